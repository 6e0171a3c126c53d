"""Why a Parquet file cannot enter a table."""

from tidegate.platform.core.errors import DataError


class BadParquet(DataError, ValueError):
    """The object is not a Parquet file that can enter a table. The message is the reason."""
