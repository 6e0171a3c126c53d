"""Step 2 of bronze: turn files into the adds of a batch."""
