"""Addresses and names: object keys, table keys, formats."""
