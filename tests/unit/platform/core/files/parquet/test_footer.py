"""Footers of files that pyarrow writes: schemas, bounds that hold for every value, and damaged files."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.lakes.corrupt_parquet import by_a_library_that_miscounts, with_smaller_columns
from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.files.parquet.footer import MAX_FOOTER_BYTES, Footer, footer_bytes, read_footer
from tidegate.platform.core.files.parquet.parquet_copy import write_copy
from tidegate.platform.core.files.parquet.spark_support import _miscounts


def written(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def footer(table: pa.Table, **options: Any) -> Footer:
    body = written(table, **options)
    return read_footer(body, len(body))


def column(values: list[Any], kind: pa.DataType, **options: Any) -> Footer:
    return footer(pa.table({"c": pa.array(values, kind)}), **options)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.bool_(), "boolean"),
        (pa.int8(), "tinyint"),
        (pa.int16(), "smallint"),
        (pa.int32(), "int"),
        (pa.int64(), "bigint"),
        (pa.uint8(), "smallint"),
        (pa.uint16(), "int"),
        (pa.uint32(), "bigint"),
        (pa.float32(), "float"),
        (pa.float64(), "double"),
        (pa.string(), "string"),
        (pa.large_string(), "string"),
        (pa.binary(), "binary"),
        (pa.date32(), "date"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.timestamp("ms"), "timestamp_ntz"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.timestamp("us", "Europe/Berlin"), "timestamp"),
        (pa.decimal128(10, 2), "decimal(10,2)"),
        (pa.decimal128(38, 38), "decimal(38,38)"),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
        (pa.binary(4), "binary"),
        (pa.list_(pa.int64()), "array<bigint>"),
        (pa.map_(pa.string(), pa.int32()), "map<string,int>"),
        (pa.struct([("x", pa.int64())]), "struct<`x`:bigint>"),
    ],
    ids=str,
)
def test_types_that_spark_reads(kind: pa.DataType, expected: str) -> None:
    found = column([None], kind)
    assert found.fields[0].type.sql() == expected
    assert found.copied is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.uint64(), "decimal(20,0)"),
        (pa.time32("ms"), "string"),
        (pa.time64("us"), "string"),
        (pa.time64("ns"), "string"),
        (pa.timestamp("ns"), "timestamp_ntz"),
        (pa.timestamp("ns", "UTC"), "timestamp"),
        (pa.float16(), "float"),
        (pa.uuid(), "string"),
        (pa.list_(pa.uint64()), "array<decimal(20,0)>"),
        (pa.struct([("t", pa.time64("us"))]), "struct<`t`:string>"),
    ],
    ids=str,
)
def test_types_that_enter_as_a_copy(kind: pa.DataType, expected: str) -> None:
    found = column([None], kind)
    assert found.fields[0].type.sql() == expected
    assert (found.copied or "").startswith("column c")


@pytest.mark.parametrize("kind", [pa.decimal256(50, 2), pa.duration("us")], ids=str)
@pytest.mark.limit(
    "Columns and types",
    "A Parquet column of durations, or of decimals of more than 38 digits, refuses its file: no type of a "
    "Delta table holds the values.",
)
def test_types_that_no_table_holds_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(BadParquet, match=r"column c has the type .*, whose values no type of a Delta table holds"):
        column([None], kind)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"use_dictionary": False, "column_encoding": {"c": "BYTE_STREAM_SPLIT"}}, "column c is encoded with BYTE_"),
        ({"compression": "lz4"}, "column c is compressed with LZ4"),
        ({"compression": "brotli"}, "column c is compressed with BROTLI"),
        ({"compression": "zstd"}, None),
        ({"compression": "gzip", "data_page_version": "2.0"}, None),
    ],
)
def test_encodings_and_codecs_that_spark_does_not_read_are_copied(options: dict[str, Any], reason: str | None) -> None:
    found = column([1.0], pa.float64(), **options).copied
    assert found is None if reason is None else (found or "").startswith(reason)


def test_a_library_that_counts_dictionaries_wrongly_is_not_trusted() -> None:
    body = by_a_library_that_miscounts(pa.table({"id": list(range(10)) * 10, "name": ["a", "b"] * 50}))
    assert pq.read_table(io.BytesIO(body)).num_rows == 100, "Arrow reads it"
    assert read_footer(body, len(body)).copied == (
        "it was written by parquet-mr, which counts the bytes of dictionaries wrongly"
    )


@pytest.mark.parametrize(
    ("writer", "wrong"),
    [
        ("parquet-mr", True),
        ("parquet-mr version 1.2.8 (build 1a2b)", True),
        ("parquet-mr version 1.1.0", True),
        ("parquet-mr version 1.2.9", False),
        ("parquet-mr version 1.12.3 (build f8dced1)", False),
        ("parquet-mr version 1.20.1", False),
        ("parquet-cpp-arrow version 1.2.0", False),
        ("", False),
    ],
)
def test_which_libraries_count_dictionaries_wrongly(writer: str, wrong: bool) -> None:
    assert _miscounts(writer) is wrong


def test_a_column_smaller_than_its_values_is_not_trusted() -> None:
    values = pa.table({"c": range(1000)}, pa.schema([pa.field("c", pa.int64(), nullable=False)]))
    body = written(values, use_dictionary=False, compression="none")
    assert read_footer(body, len(body)).copied is None
    small = with_smaller_columns(body, 200)
    assert read_footer(small, len(small)).copied == "column c has fewer bytes than its 1000 values take"


def test_a_column_without_a_type_joins_with_a_file_that_has_values() -> None:
    found = footer(pa.table({"a": [1], "nothing": pa.nulls(1)}))
    assert [field.name for field in found.fields] == ["a"]
    with pytest.raises(BadParquet, match="no column of it has a type"):
        footer(pa.table({"nothing": pa.nulls(1)}))


def test_a_file_without_columns_is_refused() -> None:
    with pytest.raises(BadParquet, match="it has no columns"):
        footer(pa.table({}))


def test_statistics_are_kept_of_32_columns() -> None:
    found = footer(pa.table({f"c{index}": [index] for index in range(40)}))
    assert len(found.fields) == 40
    assert list(found.minimum) == list(found.maximum) == list(found.nulls) == [f"c{index}" for index in range(32)]


def test_what_a_column_always_says() -> None:
    found = footer(pa.table({"Day": [date(2024, 1, 1)] * 2, "n": [1, 2], "s": ["x", None]}))
    assert [found.constant_text(name) for name in ("day", "n", "s", "none")] == ["2024-01-01", None, None, None]


@pytest.mark.parametrize(
    ("values", "kind", "low", "high"),
    [
        ([3, None, -1], pa.int32(), -1, 3),
        ([2**62, -(2**63)], pa.int64(), -(2**63), 2**62),
        ([date(2024, 2, 29), date(1583, 1, 1)], pa.date32(), "1583-01-01", "2024-02-29"),
        (["b", "a"], pa.string(), "a", "b"),
        (["ü", "z"], pa.string(), "z", "ü"),
    ],
)
def test_bounds_of_types_on_the_proven_list(values: list[Any], kind: pa.DataType, low: Any, high: Any) -> None:
    found = column(values, kind)
    assert (found.minimum, found.maximum) == ({"c": low}, {"c": high})
    assert found.rows == len(values)
    assert found.nulls == {"c": values.count(None)}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False], pa.bool_()),
        ([b"a", b"b"], pa.binary()),
        ([Decimal("1.00"), Decimal("2.50")], pa.decimal128(10, 2)),
        (["x" * 33, "y" * 33], pa.string()),
        (["ü" * 17], pa.string()),  # 34 bytes
        ([date(1582, 10, 4)], pa.date32()),  # readers may take older dates for dates of the Julian calendar
    ],
    ids=["boolean", "binary", "decimal", "long string", "long unicode", "old date"],
)
def test_other_types_have_no_bounds(values: list[Any], kind: pa.DataType) -> None:
    found = column(values, kind)
    assert (found.minimum, found.maximum) == ({}, {})
    assert found.nulls == {"c": 0}


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
def test_floating_point_has_no_upper_bound(kind: pa.DataType) -> None:
    """Parquet's maximum leaves out NaN, which Spark sorts above every number."""
    found = column([1.5, float("nan"), -2.0], kind)
    assert found.maximum == {}
    assert found.minimum == {"c": -2.0}
    infinite = column([float("-inf"), 1.0], kind)
    assert (infinite.minimum, infinite.maximum) == ({}, {})


def test_an_upper_bound_of_a_timestamp_is_rounded_up() -> None:
    at = datetime(2024, 5, 1, 10, 0, 0, 123456)
    found = column([at], pa.timestamp("us"))
    assert found.minimum == {"c": "2024-05-01T10:00:00.123"}
    assert found.maximum == {"c": "2024-05-01T10:00:00.124"}
    whole = column([at.replace(microsecond=123000)], pa.timestamp("us"))
    assert whole.minimum == whole.maximum == {"c": "2024-05-01T10:00:00.123"}
    # Rounding up also carries into the next second, minute, day and year.
    late = column([datetime(2023, 12, 31, 23, 59, 59, 999999)], pa.timestamp("us"))
    assert late.maximum == {"c": "2024-01-01T00:00:00.000"}


def test_zoned_timestamps_are_in_utc() -> None:
    at = datetime(2024, 5, 1, 10, tzinfo=timezone(timedelta(hours=2)))
    found = column([at], pa.timestamp("us", "Europe/Berlin"))
    assert found.minimum == found.maximum == {"c": "2024-05-01T08:00:00.000Z"}


@pytest.mark.parametrize("year", [1, 1899, 9991, 9999])
def test_timestamps_of_odd_calendars_have_no_bound(year: int) -> None:
    found = column([datetime(year, 1, 1)], pa.timestamp("us"))
    assert (found.minimum, found.maximum) == ({}, {})


INSTANTS = st.datetimes(datetime(1900, 1, 1), datetime(9989, 12, 31), timezones=st.just(UTC))


@given(st.lists(INSTANTS, min_size=1, max_size=5))
def test_no_instant_is_outside_its_file_s_bounds(values: list[datetime]) -> None:
    found = column(values, pa.timestamp("us", "UTC"), row_group_size=2)
    low, high = (datetime.fromisoformat(bound["c"]) for bound in (found.minimum, found.maximum))
    assert all(low <= value <= high for value in values)


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=6))
def test_no_string_is_outside_its_file_s_bounds(values: list[str | None]) -> None:
    found = column(values, pa.string(), row_group_size=2)
    known = [value.encode() for value in values if value is not None]
    if "c" in found.minimum:
        assert found.minimum["c"].encode() <= min(known)
    if "c" in found.maximum:
        assert found.maximum["c"].encode() >= max(known)
    assert found.nulls == {"c": values.count(None)}


def test_bounds_span_row_groups_and_need_each_of_them() -> None:
    assert column([5, 6, 1, 2, 9, 8], pa.int64(), row_group_size=2).minimum == {"c": 1}
    assert column([5, 6, None, None, 9, 8], pa.int64(), row_group_size=2).maximum == {"c": 9}
    mixed = column(["a", "a", "x" * 40, "y"], pa.string(), row_group_size=2)
    assert (mixed.minimum, mixed.maximum) == ({}, {"c": "y"})


def test_a_file_of_nulls_has_counts_only() -> None:
    found = column([None, None], pa.int64())
    assert (found.minimum, found.maximum, found.nulls) == ({}, {}, {"c": 2})


def test_a_file_of_no_rows() -> None:
    found = column([], pa.int64())
    assert (found.rows, found.minimum, found.nulls) == (0, {}, {})
    assert [field.name for field in found.fields] == ["c"]


def test_without_statistics_nothing_is_claimed() -> None:
    found = column([1, 2], pa.int64(), write_statistics=False)
    assert (found.rows, found.minimum, found.maximum, found.nulls) == (2, {}, {}, {})


def test_int96_is_a_timestamp_without_bounds() -> None:
    found = column([datetime(2024, 5, 1)], pa.timestamp("ns"), use_deprecated_int96_timestamps=True)
    assert found.fields[0].type.sql() == "timestamp"
    assert (found.minimum, found.maximum) == ({}, {})


def test_nested_columns_have_a_type_and_no_statistics() -> None:
    found = column([[1, 2], [3]], pa.list_(pa.int64()))
    assert (found.minimum, found.maximum, found.nulls) == ({}, {}, {})


def test_a_nested_leaf_is_not_taken_for_a_column_of_its_path() -> None:
    table = pa.table({"s": pa.array([{"x": 1}]), "s.x": pa.array(["a"])})
    found = footer(table)
    assert "s.x" not in found.minimum or found.minimum["s.x"] == "a"


def test_statistics_as_delta_writes_them() -> None:
    table = pa.table({"Id": pa.array([1, 2], pa.int64()), "name": ["a", None], "more": [1, 2]})
    stats = footer(table).stats({"id": "id", "name": "NAME"})
    assert json.loads(stats) == {
        "numRecords": 2,
        "minValues": {"id": 1, "NAME": "a"},
        "maxValues": {"id": 2, "NAME": "a"},
        "nullCount": {"id": 0, "NAME": 1},
    }
    assert " " not in stats


def test_a_footer_s_personal_columns_have_no_statistics() -> None:
    table = pa.table({"id": pa.array([1, 2], pa.int64()), "Name": ["a", None]})
    stats = json.loads(footer(table).stats({"id": "id", "name": "Name"}, {"name"}))
    assert stats == {"numRecords": 2, "minValues": {"id": 1}, "maxValues": {"id": 2}, "nullCount": {"id": 0}}


BODY = written(pa.table({"a": pa.array(range(1000), pa.int64()), "b": [f"value {i}" for i in range(1000)]}))
FOOTER = footer_bytes(BODY[-8:], len(BODY))


def test_the_footer_s_length_follows_from_the_last_eight_bytes() -> None:
    assert int.from_bytes(BODY[-8:-4], "little") + 8 == FOOTER
    assert read_footer(BODY[-FOOTER:], len(BODY)) == read_footer(BODY, len(BODY))


@pytest.mark.parametrize(
    "cut",
    sorted(
        {
            0,
            1,
            3,
            4,
            5,
            8,
            11,
            12,
            100,
            len(BODY) - FOOTER,
            *range(len(BODY) - FOOTER, len(BODY), 13),
            len(BODY) - 4,
            len(BODY) - 1,
        }
    ),
)
def test_a_file_cut_anywhere_is_refused(cut: int) -> None:
    """The cuts are in the data, in the footer, in its length and in the magic bytes."""
    with pytest.raises(BadParquet, match=r"empty|truncated or not Parquet"):
        read_footer(BODY[:cut], cut)


@pytest.mark.parametrize("missing", [1, 4, 100, 4000])
def test_a_file_that_lost_a_piece_of_its_data_is_refused(missing: int) -> None:
    """The footer is complete, but points past the end of the data."""
    body = BODY[:4] + BODY[4 + missing :]
    with pytest.raises(BadParquet, match="past the end of the data"):
        read_footer(body, len(body))


@pytest.mark.limit("Files", "The footer of a Parquet file has at most 64 MiB.")
def test_a_footer_of_any_size_is_not_read_into_memory() -> None:
    def tail(length: int) -> bytes:
        return (length - 8).to_bytes(4, "little") + b"PAR1"

    assert footer_bytes(tail(MAX_FOOTER_BYTES), 4 << 30) == MAX_FOOTER_BYTES
    for length in (MAX_FOOTER_BYTES + 1, (1 << 32) - 1):
        with pytest.raises(BadParquet, match=r"its footer has [0-9,]+ bytes, and at most 67,108,864 are read: write"):
            footer_bytes(tail(length), 5 << 30)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty file"),
        (b"PAR1", "truncated or not Parquet"),
        (b"PAR1PAR1", "truncated or not Parquet"),
        (b"id,name\n1,a\n" * 20, "truncated or not Parquet: no Parquet footer at its end"),
        (b"PAR1" + b"\0" * 50 + b"\x20\0\0\0PARE", "its footer is encrypted"),
        (b"PAR1" + b"\0" * 50 + b"\xff\xff\xff\x7fPAR1", "its footer claims 2147483655 bytes of 62"),
        (b"PAR1" + b"\x15" * 50 + b"\x20\0\0\0PAR1", "truncated or not Parquet"),
    ],
)
def test_what_is_not_parquet_is_refused_with_its_reason(body: bytes, reason: str) -> None:
    with pytest.raises(BadParquet, match=reason):
        read_footer(body, len(body))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3_000_000, -1_000_000], pa.date32()),
        ([2**62], pa.timestamp("us")),
        ([-(2**62)], pa.timestamp("us", "Europe/Berlin")),
        ([2**60], pa.timestamp("ms", "UTC")),
    ],
    ids=str,
)
def test_values_that_python_cannot_hold_have_no_bound(values: list[int], kind: pa.DataType) -> None:
    """Parquet and Spark can hold the year 10000."""
    found = footer(pa.table({"c": pa.array(values, pa.int32() if pa.types.is_date(kind) else pa.int64()).cast(kind)}))
    assert (found.rows, found.minimum, found.maximum) == (len(values), {}, {})


def test_a_column_name_that_is_not_text_is_refused() -> None:
    body = written(pa.table({"column_x": [1]})).replace(b"column_x", b"column_\xff")
    with pytest.raises(BadParquet, match="truncated or not Parquet"):
        read_footer(body, len(body))


def test_a_column_that_unpacks_to_very_much_enters_as_a_copy_in_small_portions(tmp_path: Path) -> None:
    """A reader unpacks a page whole. The page of the first file has 128 MiB in 12 KB, and no footer names its pages."""
    source, copy = tmp_path / "bomb", tmp_path / "copy"
    table = pa.table({"id": list(range(256)), "text": ["\0" * (1 << 19)] * 256})
    options: dict[str, Any] = {"compression": "zstd", "use_dictionary": False, "data_page_size": 1 << 30}
    pq.write_table(table, source, **options)
    found = read_footer(source.read_bytes(), source.stat().st_size)
    assert re.fullmatch(r"column text unpacks [\d,]+ bytes to 134,[\d,]+, which may be one page", found.copied or "")
    write_copy(source, copy, {})
    assert read_footer(copy.read_bytes(), copy.stat().st_size).copied is None
    groups = pq.read_metadata(copy)
    assert max(groups.row_group(place).num_rows for place in range(groups.num_row_groups)) << 19 < 16 << 20
    assert pq.read_table(copy).equals(table)
    # One value cannot be divided.
    for mib in (63, 65):
        pq.write_table(pa.table({"text": ["\0" * (mib << 20)]}), source, **options)
        if mib == 63:
            write_copy(source, copy, {})
            assert read_footer(copy.read_bytes(), copy.stat().st_size).copied is None
        else:
            with pytest.raises(BadParquet, match="a row of it has more than 64 MiB"):
                write_copy(source, copy, {})
