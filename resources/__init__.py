"""Handles on the outside world: S3, SQS, Spark and Delta."""
