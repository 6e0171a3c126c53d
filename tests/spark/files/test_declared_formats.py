"""Files that declare their columns: new columns join the table, and a broken file keeps only itself out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from tests.support.foreign import avro_files, orc_files
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
#: Functions that write a table as a file, by the ending of the file.
WRITERS: dict[str, Callable[[pa.Table], bytes]] = {
    "orc": partial(orc_files.written, compression="zlib"),
    "avro": avro_files.of_table,
}
EACH = pytest.mark.parametrize("ending", WRITERS)
#: Bytes. The look reads only smaller files as a whole. A larger file is read from S3.
_LARGE = 1 << 18


def words(first: int, count: int, **more: Any) -> pa.Table:
    """Return rows whose text hardly becomes smaller when it is compressed."""
    text = [f"{(first + n) * 2654435761 % 2**32:x}" * 4 for n in range(count)]
    return pa.table({"id": range(first, first + count), "text": text, **more})


def with_a_broken_middle(body: bytes) -> bytes:
    """Break the middle of a file. Its beginning and its end stay whole."""
    at = len(body) // 3
    return body[:at] + bytes(255 - byte for byte in body[at : at + 4_000]) + body[at + 4_000 :]


@EACH
@pytest.mark.parametrize("mode", ["interpreted", "compiled", "ignoring"])
def test_a_broken_value_ends_its_file_and_no_other(
    ending: str,
    mode: str,
    tidegate_lake: MakeLake,
    kit: Any,
    compiled: Callable[[TestLake], None],
    configured: Callable[[TestLake, dict[str, str]], None],
) -> None:
    lake = tidegate_lake([{"name": "t", "prefix": "t/"}])
    if mode == "compiled":
        compiled(lake)
    if mode == "ignoring":
        configured(lake, {"spark.sql.files.ignoreCorruptFiles": "true"})
    write = WRITERS[ending]
    large = write(words(0, 60_000))
    assert len(large) > _LARGE
    lake.put(f"t/small.{ending}", write(words(100_000, 1)))
    lake.put(f"t/large.{ending}", large)
    lake.put(f"t/middle.{ending}", with_a_broken_middle(write(words(200_000, 60_000))))
    lake.put(f"t/cut.{ending}", large[: len(large) // 2])
    kit.run(lake, "t")
    fate = kit.fate(lake, "t")
    assert [fate[f"{name}.{ending}"][0] for name in ("small", "large", "middle", "cut")] == [
        "committed",
        "committed",
        "quarantined",
        "quarantined",
    ]
    for name in ("middle", "cut"):
        reason = fate[f"{name}.{ending}"][1]
        assert reason.startswith("it cannot be read: "), reason
        assert reason.endswith("; write the file again"), reason
    assert kit.bronze(lake, "t", "count(*), count(DISTINCT id), min(text)") == [(60_001, 60_001, "0" * 4)]


@EACH
def test_columns_that_files_declare_join_the_table_and_a_strict_one_refuses_them(
    ending: str, tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake(
        [{"name": "items", "prefix": "items/"}, {"name": "fixed", "prefix": "fixed/", "schema": "strict"}]
    )
    write = WRITERS[ending]
    inner = pa.array([{"x": 1}]), pa.array([{"y": "deep", "x": 2}])
    for table in ("items", "fixed"):
        lake.put(f"{table}/a.{ending}", write(words(1, 1, inner=inner[0])))
        kit.run(lake, table)
        lake.put(f"{table}/b.{ending}", write(words(2, 1, inner=inner[1], more=[True])))
        lake.put(f"{table}/c.{ending}", write(pa.table({"id": ["three"]})))
        kit.run(lake, table)
    assert kit.bronze(lake, "items", "id, inner.x, inner.y, more") == [(1, 1, None, None), (2, 2, "deep", True)]
    assert kit.bronze(lake, "fixed", "id") == [(1,)]
    assert "column id is string, but the table's is bigint" in kit.fate(lake, "items")[f"c.{ending}"][1]
    assert "its `schema` in lake.yaml is strict" in kit.fate(lake, "fixed")[f"b.{ending}"][1]


@EACH
def test_a_column_is_in_the_file_or_in_its_path(ending: str, tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "t", "prefix": "t/", "partition_columns": {"day": "date"}}])
    write = WRITERS[ending]
    lake.put(f"t/day=2026-01-01/a.{ending}", write(words(1, 1)))
    lake.put(f"t/day=2026-01-01/b.{ending}", write(words(2, 1, DAY=["2026-01-01"])))
    kit.run(lake, "t")
    assert kit.bronze(lake, "t", "id, CAST(day AS string), _source_path LIKE '%/a.%'") == [(1, "2026-01-01", True)]
    assert "column day is in the file and in its path; leave it out" in str(kit.fate(lake, "t"))


@EACH
def test_a_folder_of_such_files_is_discovered(ending: str, tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([])
    lake.put(f"shop/orders/a.{ending.upper()}", WRITERS[ending](words(1, 2)))
    kit.run(lake, "shop/orders")
    assert kit.bronze(lake, "shop/orders", "id") == [(1,), (2,)]
