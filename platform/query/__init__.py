"""Queries on a lake's tables by their SQL names."""
