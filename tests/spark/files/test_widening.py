"""`widen: true`: a file with wider types makes the columns wider, and older files are read as the wider types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, DeltaProtocolError

from tests.support.foreign import orc_files
from tests.support.foreign.others import by_delta_rs, by_duckdb, copied_down
from tidegate.platform.testing import TestLake

_DAY, _TIME = dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, 0, 0, 1)
NARROW = pa.schema({"id": pa.int32(), "f": pa.float32(), "n": pa.int32(), "m": pa.decimal128(10, 2), "at": pa.date32()})
WIDE = pa.schema(
    {"id": pa.int64(), "f": pa.float64(), "n": pa.float64(), "m": pa.decimal128(14, 4), "at": pa.timestamp("us")}
)
_TYPES = ["bigint", "double", "double", "decimal(14,4)", "timestamp_ntz"]


def _narrow(id: int) -> pa.Table:
    row = {"id": id, "f": 0.25, "n": -(2**31), "m": Decimal("-99999999.99"), "at": _DAY}
    return pa.Table.from_pylist([row], NARROW)


def _wide(id: int) -> pa.Table:
    return pa.Table.from_pylist([{"id": id, "f": 0.1, "n": 0.5, "m": Decimal("0.0001"), "at": _TIME}], WIDE)


def _rows(*ids: int) -> list[tuple[Any, ...]]:
    """Return the rows of the narrow files, and of the wide file, whose id only a bigint holds."""
    midnight = dt.datetime.combine(_DAY, dt.time())
    old = [(id, 0.25, -(2.0**31), Decimal("-99999999.9900"), midnight) for id in ids]
    return [*old, (2**40, 0.1, 0.5, Decimal("0.0001"), _TIME)]


@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_a_file_with_wider_types_makes_the_columns_wider(
    ending: str, tidegate_lake: Callable[..., TestLake], kit: Any, tmp_path: Path
) -> None:
    write = {"parquet": kit.parquet, "orc": orc_files.written}[ending]
    table = {"prefix": "t/", "silver": {"keys": ["id"], "order": "n", "every": 60}}
    lake = tidegate_lake([{"name": "t", "widen": True, **table}, {"name": "fixed", "prefix": "fixed/"}])
    for prefix in ("t", "fixed"):
        lake.put(f"{prefix}/1.{ending}", write(_narrow(1)))
        kit.run(lake, prefix)
    kit.merge(lake, "t")
    location = kit.location(lake, "t")
    (detail,) = kit.query(lake, "DESCRIBE DETAIL {t}", t=location)
    assert "typeWidening" not in detail["tableFeatures"], "every reader can read the table until it needs the feature"

    for prefix in ("t", "fixed"):
        lake.put(f"{prefix}/2.{ending}", write(_wide(2**40)))
    (second,) = kit.run(lake, "t")
    assert second.batch.evolve is not None
    assert [field.type.sql() for field in kit.state(lake, "t").schema.fields][-5:] == _TYPES
    assert kit.bronze(lake, "t", "id, f, n, m, at") == _rows(1)
    kit.run(lake, "fixed")
    assert "wider only with `widen: true`" in kit.fate(lake, "fixed")[f"2.{ending}"][1]

    # Producers that were not changed are served; what is no wider type is refused; bounds hide no row.
    lake.put(f"t/3.{ending}", write(_narrow(3)))
    lake.put(f"t/4.{ending}", write(pa.table({"id": ["text"]})))
    lake.put(f"t/5.{ending}", write(pa.table({"n": [2**60]})))
    kit.run(lake, "t")
    fate = kit.fate(lake, "t")
    assert [fate[f"{n}.{ending}"][0] for n in (3, 4, 5)] == ["committed", "quarantined", "quarantined"]
    assert "column n is bigint, but the table's is double" in fate[f"5.{ending}"][1]
    where = "id > 0 AND f < 1 AND n < 1 AND m < 1 AND at >= TIMESTAMP_NTZ'2026-01-02 00:00:00'"
    assert kit.query(lake, f"SELECT count(*) AS n FROM {{t}} WHERE {where}", t=location)[0]["n"] == 3
    narrow = "at = TIMESTAMP_NTZ'2026-01-02 00:00:00' AND n = -2147483648 AND m = -99999999.99"
    assert kit.query(lake, f"SELECT count(*) AS n FROM {{t}} WHERE {narrow}", t=location)[0]["n"] == 2

    # Silver's columns become wider with the merge.
    kit.merge(lake, "t")
    assert sorted(kit.silver(lake, "t", "id, f, n, m, at")) == _rows(1, 3)

    # The readers that `docs/guides/widening.md` names.
    copy = copied_down(lake.clients, location, tmp_path)
    assert sorted(tuple(row[name] for name in NARROW.names) for row in by_duckdb(copy)) == _rows(1, 3)
    with pytest.raises(DeltaError, match="TypeWidening"):
        by_delta_rs(copy)
    with pytest.raises(DeltaProtocolError, match="typeWidening"):
        DeltaTable(copy).to_pyarrow_table()
    with pytest.raises(DeltaProtocolError, match="typeWidening"):
        pl.scan_delta(str(copy)).collect()
