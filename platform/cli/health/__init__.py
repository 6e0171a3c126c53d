"""`tidegate status` and `tidegate tail`: the health of a lake in the terminal."""
