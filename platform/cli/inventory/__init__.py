"""`tidegate inventory`: the inventory configurations that a table of inventories needs."""
