"""Figures of the objects in a table of inventories, and of what the tables of the lake cost."""
