"""Reads what tables have recorded of their work, and the bytes that they have."""
