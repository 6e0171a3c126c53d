"""Runs of bronze as Dagster knows them: their tags, the tables they hold, and those that failed."""
