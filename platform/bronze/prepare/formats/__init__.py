"""One object for each file format: what the beginning of its files shows, which columns they give, how to read them."""
