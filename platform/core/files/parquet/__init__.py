"""Parquet files as their footers tell them: what is in them, and whether Spark reads it as it is meant."""
