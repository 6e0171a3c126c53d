"""All cases of files that foreign writers wrote."""

from __future__ import annotations

from tests.support.foreign import (
    avro_files,
    by_arrow,
    by_duckdb,
    by_pandas,
    by_polars,
    by_spark,
    csv_files,
    json_files,
    odd_names,
    orc_files,
)
from tests.support.foreign.by_arrow import good_parquet
from tests.support.foreign.case import Case, both_modes

#: No file of the first batch enters. A later file must still create the table.
_REFUSED = (*by_arrow.REFUSED, *by_pandas.REFUSED, *by_polars.REFUSED, *odd_names.REFUSED)

CASES: tuple[Case, ...] = (
    *by_arrow.CASES,
    *by_pandas.CASES,
    *by_polars.CASES,
    *by_duckdb.CASES,
    *by_spark.CASES,
    *odd_names.CASES,
    *both_modes(Case("refused", _REFUSED, good_parquet)),
    *csv_files.CASES,
    *json_files.CASES,
    *orc_files.CASES,
    *avro_files.CASES,
)
