"""Silver: one asset for each configured table, merged from its bronze table."""
