"""Processes that end with their owner, and ports for them."""
