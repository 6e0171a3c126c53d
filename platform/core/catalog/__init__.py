"""What catalogs and other readers see of the tables: their columns in other systems, and who can read them."""
