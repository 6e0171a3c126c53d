"""The columns of a table: their types, their names, and whether a file fits them."""
