"""JSON values that a column's type would change without a word."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def rounded(value: Column, text: Column) -> Column:
    """Whether a double is not the whole number that its text says."""
    exact = text.try_cast("decimal(38,0)")
    kept = value.try_cast("decimal(38,0)").eqNullSafe(exact) & exact.isNotNull()
    return F.coalesce(text.rlike("^-?[0-9]{16,}$") & ~kept, F.lit(False))
