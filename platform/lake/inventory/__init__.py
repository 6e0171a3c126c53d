"""Deliveries of S3 Inventory, and their differences from the ledger."""
