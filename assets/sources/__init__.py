"""Buckets and queues as external assets, with their checks."""
