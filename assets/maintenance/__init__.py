"""Maintenance: compaction of tables, and retention of Dagster's history."""
