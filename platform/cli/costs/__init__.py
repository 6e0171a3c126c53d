"""The command `tidegate cost`."""
