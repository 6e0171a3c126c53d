"""Dagster assets, thin over steps that run without Dagster."""
