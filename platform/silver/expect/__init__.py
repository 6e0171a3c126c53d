"""Expectations of silver tables: rows that violate them are counted, and each is an asset check."""
