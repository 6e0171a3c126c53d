"""Processes that end with their owner, and their ports."""
