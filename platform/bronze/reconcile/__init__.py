"""Hints without events, from a listing or an S3 Inventory."""
