"""Runs as Dagster knows them: their tags, the tables that they hold, their failures, and how long they may last."""
