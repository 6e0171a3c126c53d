"""One object for each file format: how its files are looked at, what columns they give, and how they are read."""
