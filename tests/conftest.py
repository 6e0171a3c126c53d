"""Shared fixtures: the platform's own, as its users have them."""

pytest_plugins = ["tidegate.platform.testing.fixtures"]
