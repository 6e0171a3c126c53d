"""Deliveries of S3 Inventory, and what they say that the ledger does not."""
