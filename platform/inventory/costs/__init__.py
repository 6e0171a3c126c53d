"""What the tables of the lake cost."""
