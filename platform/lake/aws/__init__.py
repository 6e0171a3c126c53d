"""Handles of AWS: S3, SQS, DynamoDB, CloudWatch, Glue."""
