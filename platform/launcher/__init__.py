"""Runs as forks of a process that has imported the code location already: Dagster's run launcher for one machine."""
