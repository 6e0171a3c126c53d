"""Expressions of `silver` that have no value for a row, such as 10 / 0."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import (
    ArithmeticException,
    ArrayIndexOutOfBoundsException,
    DateTimeException,
    NumberFormatException,
    SparkRuntimeException,
)

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.schema.sql_literal import format_on_one_line
from tidegate.platform.core.silver.expectations import option_with

#: Errors of an expression that has no value for a row.
_NO_VALUE = (
    ArithmeticException,
    ArrayIndexOutOfBoundsException,
    DateTimeException,
    NumberFormatException,
    SparkRuntimeException,
)


@contextmanager
def name_failing_expression(spec: TableSpec) -> Iterator[None]:
    """Replace Spark's error about an expression of `lake.yaml` by one that names it, and quotes no value of a row.

    Raises:
        BadValue: an expression has no value for a row, such as 10 / 0.
    """
    try:
        yield
    except _NO_VALUE as error:
        fragments = [context.fragment() for context in error.getQueryContext() or ()]
        for fragment in fragments:
            if spec.silver and (option := option_with(spec.silver, fragment)):
                raise BadValue(
                    f"silver.{spec.name}: {option} in lake.yaml has no value for a row: "
                    f"{error.getCondition()} in {format_on_one_line(fragment)}. Write it so that it is NULL there: "
                    "with try_divide, try_cast or CASE"
                ) from None
        raise
