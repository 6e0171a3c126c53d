"""`mode: concatenate`: small Parquet files become fewer, larger ones, and no value changes."""

from __future__ import annotations

import datetime as dt
import io
import json
import uuid
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.lakes.outputs import objects, staged
from tests.support.lakes.seams import Standing, dying_at, seams_watched
from tidegate.platform.bronze import publish
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.operations.object_trace import trace
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


def _table(name: str = "parts", **output: Any) -> dict[str, Any]:
    return {
        "name": name, "prefix": f"{name}/", "format": "parquet", "mode": "concatenate",
        "output": {"folder": f"{name}/", **output},
    }  # fmt: skip


_TAGS = pa.list_(pa.struct([("k", pa.string()), ("v", pa.int32())]))


def _file(ids: range, **options: Any) -> bytes:
    """Return a file with types that Spark does not know, or would read as others."""
    at = dt.datetime(2026, 1, 31, 23, 59, 59, 123456)
    table = pa.table(
        {
            "id": pa.array(ids, pa.uint64()),
            "nanos": pa.array([1_769_903_999_123_456_789 + i for i in ids], pa.timestamp("ns", "Europe/Berlin")),
            "time": pa.array([at.time() for _ in ids], pa.time64("us")),
            "uuid": pa.array([uuid.UUID(int=i).bytes for i in ids], pa.uuid()),
            "price": pa.array([Decimal(f"{i}.50") for i in ids], pa.decimal128(30, 2)),
            "half": pa.array([i / 2 for i in ids], pa.float16()),
            "tags": pa.array([[{"k": f"{i}", "v": None}] if i % 2 else None for i in ids], _TAGS),
            "map": pa.array([[("a", [i])] for i in ids], pa.map_(pa.string(), pa.list_(pa.int16()))),
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **{"compression": "gzip", "write_page_checksum": True, **options})
    return buffer.getvalue()


def _other(ids: range) -> bytes:
    """Return another schema, with Spark's old type of timestamps, to the nanosecond."""
    buffer = io.BytesIO()
    moments = pa.array([1_769_903_999_123_456_789 + i for i in ids], pa.timestamp("ns"))
    pq.write_table(pa.table({"id": list(ids), "at": moments}), buffer, use_deprecated_int96_timestamps=True)
    return buffer.getvalue()


def _torn(body: bytes) -> bytes:
    """Return the file with another last byte of a page: its footer is good, and the page's checksum is not."""
    column = pq.read_metadata(io.BytesIO(body)).row_group(0).column(0)
    last = (column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size - 1
    return body[:last] + bytes([body[last] ^ 0xFF]) + body[last + 1 :]


def _read(body: bytes) -> pa.Table:
    return pq.ParquetFile(io.BytesIO(body)).read()


def _ids(lake: TestLake, prefix: str = "") -> list[int]:
    return sorted(i for body in objects(lake, prefix).values() for i in _read(body)["id"].to_pylist())


def test_files_of_a_folder_and_a_schema_become_one_and_no_value_changes(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([_table()])
    parts = [_file(range(10 * i, 10 * i + 10)) for i in range(5)]
    for i, part in enumerate(parts):
        lake.put(f"parts/a/{i}.parquet", part)
    lake.put("parts/a/none.parquet", _file(range(0)))
    lake.put("parts/a/other-1.parquet", _other(range(100, 103)))
    lake.put("parts/a/other-2.parquet", _other(range(103, 105)))
    alone = _file(range(200, 203), compression="snappy")
    lake.put("parts/day=1/x y/1.parquet", alone)
    lake.put("parts/a/torn.parquet", _torn(_file(range(300, 310))))
    lake.put("parts/a/broken.parquet", _file(range(310, 320))[:-9])
    (first,) = kit.run(lake, "parts")

    found = objects(lake)
    assert {key.rpartition("/")[0]: key.endswith(".parquet") for key in found} == {
        "parts/a": True, "parts/day=1/x y": True,
    }  # fmt: skip
    by_ids = {tuple(_read(body)["id"].to_pylist()): body for body in found.values()}
    assert sorted(by_ids) == [tuple(range(50)), (100, 101, 102, 103, 104), (200, 201, 202)]
    for ids, sources in {
        tuple(range(50)): parts,
        (100, 101, 102, 103, 104): [_other(range(100, 105))],
        (200, 201, 202): [alone],
    }.items():
        written, given = pq.ParquetFile(io.BytesIO(by_ids[ids])), pq.ParquetFile(io.BytesIO(sources[0]))
        assert written.schema.equals(given.schema)
        assert written.num_row_groups == 1
        expected = pa.concat_tables(map(_read, sources))
        assert written.read().cast(expected.schema).equals(expected)
    assert staged(lake) == []
    assert not first.batch.commits
    fate = kit.fate(lake, "parts")
    assert {name: status for name, (status, _) in fate.items() if status != "committed"} == {
        "a/torn.parquet": "quarantined", "a/broken.parquet": "quarantined",
    }  # fmt: skip
    assert "write it again" in fate["a/torn.parquet"][1]
    assert "not Parquet, or broken" in fate["a/broken.parquet"][1]
    rows = {row["key"]: row["rows"] for row in kit.ledger(lake, "parts") if row["rows"] is not None}
    assert (rows["parts/a/0.parquet"], rows["parts/a/none.parquet"], rows["parts/a/other-1.parquet"]) == (10, 0, 3)
    assert kit.run(lake, "parts") == [], "a listing has nothing new"

    # The same bytes again, a late file, and a file that is good now.
    lake.put("parts/a/0.parquet", parts[0])
    lake.put("parts/a/broken.parquet", _file(range(310, 320)))
    lake.put("parts/a/late.parquet", _file(range(400, 402)))
    metadata = kit.metadata(lake.materialize("bronze", "parts"))
    assert (metadata["files"], metadata["rows"], metadata["objects"]) == (2, 12, 1)
    assert _ids(lake) == [*range(50), *range(100, 105), 200, 201, 202, *range(310, 320), 400, 401]
    assert "are in the output of parts since batch 1" in trace(lake.lake, lake.bucket, "parts/a/3.parquet").verdict


def test_a_file_is_full_at_object_bytes_and_other_metadata_of_readers_is_another_file(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    part = _file(range(10))
    lake = tidegate_lake([_table(object_bytes=3 * len(part))])
    for i in range(7):
        lake.put(f"parts/{i}.parquet", part)
    (done,) = kit.run(lake, "parts")
    assert sorted(item.rows for item in done.batch.objects) == [10, 30, 30]
    # Spark reads old dates by this key of their file; a note of pandas is of no consequence.
    legacy = pa.table({"day": [dt.date(1000, 1, 1)]})
    for name, note in (("a", {}), ("b", {"org.apache.spark.legacyDateTime": ""}), ("c", {"pandas": "{}"})):
        buffer = io.BytesIO()
        pq.write_table(legacy.replace_schema_metadata(note), buffer)
        lake.put(f"parts/old/{name}.parquet", buffer.getvalue())
    (done,) = kit.run(lake, "parts")
    assert sorted(item.rows for item in done.batch.objects) == [1, 2]


def test_a_file_that_is_overwritten_after_the_look_waits_and_is_not_blamed(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([_table()])
    lake.put("parts/1.parquet", _file(range(10)))
    lake.put("parts/2.parquet", _file(range(10, 20)))
    table = lake.lake.table(lake.key("parts"))
    with seams_watched():
        run = Standing("look", lambda: run_table(table, RunOptions("sleeper", listing=True)))
        run.wait_reached()
        lake.put("parts/2.parquet", _file(range(50, 90)))
        run.resume()
        run.finished()
    kit.run(lake, "parts")
    assert _ids(lake) == [*range(10), *range(50, 90)]
    assert Counter(row["status"] for row in kit.ledger(lake, "parts")) == {"committed": 2}


#: As in `test_convert.py`.
_SEAMS = ["prepare", "decide", *publish.SEAMS, "commit", "record-ledger"]


@pytest.fixture(scope="module")
def one_each(module_lake: Callable[..., TestLake]) -> TestLake:
    return module_lake([_table(f"t{i}") for i in range(len(_SEAMS))])


@pytest.mark.parametrize("seam", _SEAMS)
def test_a_run_that_dies_at_a_seam_leaves_no_row_twice_and_loses_none(seam: str, one_each: TestLake, kit: Any) -> None:
    lake, name = one_each, f"t{_SEAMS.index(seam)}"
    expected: list[int] = []
    for wave in range(2):
        for part in range(4):
            ids = range(100 * wave + 10 * part, 100 * wave + 10 * part + 5)
            lake.put(f"{name}/{part % 2}/{wave}-{part}.parquet", _file(ids))
            expected += ids
        lake.put(f"{name}/bad{wave}.parquet", json.dumps({}))
        with seams_watched(), dying_at(seam):
            kit.run(lake, name)
        kit.run(lake, name)
        assert _ids(lake, f"{name}/") == sorted(expected)
    assert Counter(row["status"] for row in kit.ledger(lake, name)) == {"committed": 8, "quarantined": 2}
    assert kit.run(lake, name) == []
