"""The pure core: words, formats and rules of Tidegate, without Dagster, AWS or Spark."""
