"""Step 2 of bronze: files become what a batch adds."""
