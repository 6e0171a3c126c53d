"""Forgetting persons: their rows leave every table, and what the lake keeps of rows elsewhere."""
