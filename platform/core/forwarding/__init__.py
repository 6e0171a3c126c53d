"""Forwarding: which bodies a route publishes, and how they wait in its outbox."""
