"""Parquet files by their footers: their contents, and whether Spark would misread them."""
