"""The values of a bronze run, in the order in which they arise."""
