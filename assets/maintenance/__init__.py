"""The assets of maintained tables, and the retention of Dagster's history."""
