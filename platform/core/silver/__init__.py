"""Silver tables: their columns, and how a merge treats their rows."""
