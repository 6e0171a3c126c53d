"""What became of the rows of one key: its newest row or its history, computed row by row."""
