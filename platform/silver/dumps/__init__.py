"""Full dumps: which rows they imply, and which of them are known whole."""
