"""The command `tidegate catalog`."""
