"""What keeps a lake small: compaction of tables, and retention of Dagster's history."""
