"""The commands of `tidegate`, one module each."""
