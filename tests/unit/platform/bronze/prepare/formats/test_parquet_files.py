"""Copies of Parquet files that Spark would not read as their writers intended."""

from __future__ import annotations

import datetime as dt
import io
import uuid
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.lakes.corrupt_parquet import with_a_page_of_nonsense
from tests.support.lakes.memory import access_to
from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.formats.parquet_files import Parquet
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, PlannedHint
from tidegate.platform.core.errors import BadParquet, Misfit
from tidegate.platform.core.files.parquet.footer import read_footer
from tidegate.platform.core.files.parquet.parquet_copy import write_copy

ID = uuid.UUID(int=2**127 + 5)
NOON = dt.datetime(2026, 1, 2, 12, 0, 0, 7)


def copied(tmp_path: Path, table: pa.Table, **options: Any) -> pa.Table:
    """Copy a file and return the rows of the copy.

    The copy must be one that could be registered, with the columns that the footer of the file promised.
    """
    source, target = tmp_path / "source.parquet", tmp_path / "target.parquet"
    pq.write_table(table, source, **options)
    promised = read_footer(source.read_bytes(), source.stat().st_size)
    assert promised.copied
    write_copy(source, target, {})
    footer = read_footer(target.read_bytes(), target.stat().st_size)
    assert footer.copied is None
    assert footer.fields == promised.fields
    assert footer.rows == table.num_rows
    return pq.read_table(target)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([NOON, None], pa.timestamp("ns"), [NOON, None]),
        ([NOON], pa.timestamp("ns", "Europe/Berlin"), [NOON.replace(tzinfo=dt.UTC)]),
        ([2**64 - 1, None, 0], pa.uint64(), [Decimal(2**64 - 1), None, Decimal(0)]),
        ([dt.time(1, 2, 3), None], pa.time32("ms"), ["01:02:03", None]),
        ([dt.time(1, 2, 3, 45), dt.time(0)], pa.time64("us"), ["01:02:03.000045", "00:00:00"]),
        ([dt.time(23, 59, 59, 999999)], pa.time64("ns"), ["23:59:59.999999"]),
        ([ID.bytes, None], pa.uuid(), [str(ID), None]),
        ([1.5, None], pa.float16(), [1.5, None]),
        ([[1, None], None, []], pa.list_(pa.uint64()), [[Decimal(1), None], None, []]),
        (
            [{"t": dt.time(1, 2), "n": 1}, None, {"t": None, "n": 2}],
            pa.struct([("t", pa.time64("us")), ("n", pa.int64())]),
            [{"t": "01:02:00", "n": 1}, None, {"t": None, "n": 2}],
        ),
        (
            [[{"t": dt.time(3)}], None, [None, {"t": None}]],
            pa.list_(pa.struct([("t", pa.time64("us"))])),
            [[{"t": "03:00:00"}], None, [None, {"t": None}]],
        ),
    ],
    ids=str,
)
def test_values_are_kept(tmp_path: Path, values: list[Any], kind: pa.DataType, expected: list[Any]) -> None:
    assert copied(tmp_path, pa.table({"c": pa.array(values, kind)}))["c"].to_pylist() == expected


@pytest.mark.parametrize(
    "options",
    [{"compression": "brotli"}, {"use_dictionary": False, "column_encoding": {"n": "BYTE_STREAM_SPLIT"}}],
    ids=str,
)
def test_other_columns_are_as_they_were(tmp_path: Path, options: dict[str, Any]) -> None:
    table = pa.table({"Order ID": ["a", None], "n": [1.5, float("inf")], "m": [[("k", 1)], []]},
                     schema=pa.schema([("Order ID", pa.string()), ("n", pa.float64()),
                                       ("m", pa.map_(pa.string(), pa.int64()))]))  # fmt: skip
    assert copied(tmp_path, table, **options).to_pylist() == table.to_pylist()


def test_a_column_without_a_type_is_left_out(tmp_path: Path) -> None:
    table = pa.table({"id": [1], "half": pa.array([0.5], pa.float16()), "nothing": pa.nulls(1)})
    assert copied(tmp_path, table).to_pylist() == [{"id": 1, "half": 0.5}]


@pytest.mark.parametrize(
    ("values", "kind"), [([1], pa.timestamp("ns")), ([1], pa.time64("ns"))], ids=["timestamp", "time"]
)
@pytest.mark.limit(
    "Columns and types",
    "A Parquet file with times in nanoseconds enters only if each is a whole number of microseconds.",
)
def test_nanoseconds_that_would_be_lost_refuse_the_file(tmp_path: Path, values: list[int], kind: pa.DataType) -> None:
    pq.write_table(pa.table({"c": pa.array(values, pa.int64()).cast(kind)}), tmp_path / "source.parquet")
    with pytest.raises(BadParquet, match=r"column c has values in nanoseconds, .* write it with microseconds"):
        write_copy(tmp_path / "source.parquet", tmp_path / "target.parquet", {})


def _int96(path: Path, *values: int, kind: pa.DataType | None = None, spark: bool = False) -> None:
    table = pa.table({"c": pa.array(values, pa.int64()).cast(kind or pa.timestamp("ns"))})
    mark = {"org.apache.spark.sql.parquet.row.metadata": "{}"} if spark else None
    pq.write_table(table.replace_schema_metadata(mark), path, use_deprecated_int96_timestamps=True)


def test_int96_is_copied_with_its_microseconds_wherever_arrow_s_nanoseconds_end(tmp_path: Path) -> None:
    _int96(tmp_path / "source.parquet", 253402300799999999, -62135596800000000, 0, kind=pa.timestamp("us"))
    promised = read_footer((tmp_path / "source.parquet").read_bytes(), (tmp_path / "source.parquet").stat().st_size)
    assert promised.copied == "column c has the Parquet type INT96, which may hold nanoseconds"
    write_copy(tmp_path / "source.parquet", tmp_path / "target.parquet", {})
    footer = read_footer((tmp_path / "target.parquet").read_bytes(), (tmp_path / "target.parquet").stat().st_size)
    assert (footer.copied, footer.fields) == (None, promised.fields)
    assert pq.read_table(tmp_path / "target.parquet")["c"].cast(pa.int64()).to_pylist() == [
        253402300799999999, -62135596800000000, 0,
    ]  # fmt: skip


def test_int96_with_nanoseconds_is_refused(tmp_path: Path) -> None:
    _int96(tmp_path / "source.parquet", 1577836800123456000, 1577836800123456789)
    with pytest.raises(BadParquet, match=r"column c has values in nanoseconds, .* write it with microseconds"):
        write_copy(tmp_path / "source.parquet", tmp_path / "target.parquet", {})


def test_spark_s_own_int96_is_read_as_it_is(tmp_path: Path) -> None:
    _int96(tmp_path / "source.parquet", 1577836800123456000, spark=True)
    body = (tmp_path / "source.parquet").read_bytes()
    assert read_footer(body, len(body)).copied is None


def test_int96_inside_of_another_type_is_refused(tmp_path: Path) -> None:
    table = pa.table({"c": pa.array([[1000]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("ns")))})
    pq.write_table(table, tmp_path / "source.parquet", use_deprecated_int96_timestamps=True)
    body = (tmp_path / "source.parquet").read_bytes()
    with pytest.raises(BadParquet, match=r"column c\.list\.element has timestamps in nanoseconds \(INT96\) inside"):
        read_footer(body, len(body))


def test_a_column_that_the_table_spells_otherwise_has_the_table_s_name_in_the_copy(tmp_path: Path) -> None:
    source, target = tmp_path / "source.parquet", tmp_path / "target.parquet"
    pq.write_table(pa.table({"ID": [1], "day": [2]}), source)
    plain = read_footer(source.read_bytes(), source.stat().st_size)
    assert plain.with_spelling({"day": "day", "other": "Other"}) is plain
    footer = plain.with_spelling({"id": "id", "day": "day"})
    assert (footer.copied, footer.renames) == ("column ID is id in the table", {"ID": "id"})
    write_copy(source, target, footer.renames)
    assert pq.read_table(target).to_pylist() == [{"id": 1, "day": 2}]


@pytest.mark.parametrize("sound", [True, False])
def test_of_a_file_that_spark_failed_on_the_copy_of_another_reader_is_read_if_that_can_read_it(sound: bool) -> None:
    put: dict[str, bytes] = {}

    def upload(bucket: str, key: str, path: Path) -> S3Found:
        put[f"s3a://{bucket}/{key}"] = path.read_bytes()
        return S3Found("copy", path.stat().st_size, 5)

    body = io.BytesIO()
    pq.write_table(pa.table({"id": range(50_000)}), body, use_dictionary=False)
    given = body.getvalue() if sound else with_a_page_of_nonsense(body.getvalue())
    objects = SimpleNamespace(open_version=lambda *_: nullcontext(io.BytesIO(given)), upload=upload)
    access = access_to(objects)
    candidate = Candidate("a.parquet", S3Found("etag", len(given), 0), PlannedHint(Hint("a.parquet"), "manifest"))
    file = SourceFile(candidate, Parquet(), "s3a://landing/a.parquet", candidate.found.size)
    if not sound:
        with pytest.raises(Misfit, match="neither Spark nor PyArrow can read its values; write it again"):
            file.format.rewritten_copy(access, file)
        assert not put
        return
    copy = file.format.rewritten_copy(access, file)
    assert copy
    assert pq.read_table(io.BytesIO(put[copy.path])).num_rows == 50_000
    assert copy.footer
    assert copy.footer.rows == 50_000
