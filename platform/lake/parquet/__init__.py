"""Parquet objects in S3: their footers, and copies of them."""
