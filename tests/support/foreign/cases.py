"""All cases."""

from __future__ import annotations

from tests.support.foreign import by_arrow, by_duckdb, by_pandas, by_polars, by_spark, csv_files, json_files, odd_names
from tests.support.foreign.case import Case

CASES: tuple[Case, ...] = (
    *by_arrow.CASES,
    *by_pandas.CASES,
    *by_polars.CASES,
    *by_duckdb.CASES,
    *by_spark.CASES,
    *odd_names.CASES,
    *csv_files.CASES,
    *json_files.CASES,
)
