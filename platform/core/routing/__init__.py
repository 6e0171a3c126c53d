"""Routing: which table an object belongs to, and why an object belongs to none."""
