"""What the objects of an inventory cost, how they grow, and what would cost less: pure computations over sums."""
