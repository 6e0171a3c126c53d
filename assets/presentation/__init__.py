"""Metadata that Dagster's pages show."""
