"""Reports on the objects in a table of inventories: what they cost, how they grow, who may see them."""
