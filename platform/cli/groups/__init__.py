"""The commands of `tidegate` with their arguments and options, in groups. Each calls its `run_…` in another folder."""
