"""Decides which table an object belongs to."""
