"""Errors of merges of tables with personal columns: Dagster keeps each error, and Spark's have values of rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError


def describe_spark_error(error: PySparkException) -> str:
    """Return what an error of Spark says without its text, which may have values of rows."""
    return f"Spark failed ({error.getCondition() or type(error).__name__})"


@contextmanager
def discreet_errors(spec: TableSpec) -> Iterator[None]:
    """Replace an error of Spark by one without its text if the table has personal columns.

    Raises:
        DataError: instead of Spark's error.
    """
    try:
        yield
    except PySparkException as error:
        if spec.personal is None:
            raise
        why = (
            "two different rows have one key and an equal `order`: add a column to `order` in lake.yaml that "
            "distinguishes them, or remove `on_tie`, and the last one counts"
            if "and an equal `order`" in str(error)
            else describe_spark_error(error)
        )
        raise DataError(
            f"silver.{spec.name}: {why}. The table has personal columns, so no value of a row is in this message: the "
            "log of the Spark server has Spark's own"
        ) from None
