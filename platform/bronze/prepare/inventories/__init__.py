"""Step 2 for the table of inventories: each delivery replaces the rows of its bucket and configuration."""
