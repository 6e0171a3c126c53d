"""The bytes of files, read without Spark."""
