"""Dagster runs of bronze tables: their tags, their tables, and their failures."""
