"""A run launcher of Dagster for one machine: runs are forks of a process that has imported the code location."""
