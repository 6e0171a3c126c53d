"""Why a Parquet file cannot enter a table."""


class BadParquet(ValueError):
    """The object is not a Parquet file that can enter a table. The message is the reason."""
