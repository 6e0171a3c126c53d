"""Commands of `tidegate` that need no folder, one module each. Larger ones have a folder next to this one."""
