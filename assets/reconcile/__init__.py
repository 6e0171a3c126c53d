"""Hints without events: from a listing, or from an S3 Inventory report."""
