"""Metadata and check results in the form that Dagster's UI shows."""
