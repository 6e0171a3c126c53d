"""Files that are loaded: Spark reads them once and writes the rows as Parquet of the table."""
