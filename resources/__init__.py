"""What an asset of a user can take: the lake, and Dagster's clients of AWS and Spark."""
