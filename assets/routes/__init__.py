"""Routes as external assets, with their counts and their check."""
