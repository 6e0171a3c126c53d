"""The bronze asset and its steps."""
