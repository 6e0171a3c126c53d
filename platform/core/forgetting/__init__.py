"""Persons who are forgotten: digests of their identities, and requests."""
