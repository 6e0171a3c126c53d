"""Parquet footers: the columns, row count and statistics of a file, and whether Spark would misread it."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.files.parquet.arrow_types import leaf_paths, table_type
from tidegate.platform.core.files.parquet.spark_support import why_copied
from tidegate.platform.core.schema.column_statistics import is_personal
from tidegate.platform.core.schema.column_types import Field, Simple, Type, fold_name
from tidegate.platform.core.schema.untyped_parts import typed_part

MAGIC = b"PAR1"
_TRAILER = 8
#: Bytes of a footer with what follows it. A run holds up to 32 of them, and who writes a file chooses its size.
MAX_FOOTER_BYTES = 64 << 20
#: Delta's ``delta.dataSkippingNumIndexedCols``: of more columns the log would only grow.
_INDEXED_COLUMNS = 32

#: Delta keeps at most 32 characters of a string bound; longer ones are omitted, for a writer may have cut them.
_STRING_BOUND_BYTES = 32
#: First year that is the same in the calendars of all writers: Spark's readers may shift the days before.
_GREGORIAN = 1583


@dataclass(frozen=True)
class Footer:
    """What a footer says.

    Attributes:
        rows: number of rows.
        fields: its columns as a table has them, in file order; of a file that is copied, as the copy has them.
        copied: why the file cannot be registered as it is, and a copy enters instead; None for most.
        renames: what the copy calls some columns, by their names in the file.
        minimum: lower bounds by column, as Delta writes them.
        maximum: upper bounds by column.
        nulls: null counts by column.
    """

    rows: int
    fields: tuple[Field, ...]
    copied: str | None
    minimum: dict[str, Any]
    maximum: dict[str, Any]
    nulls: dict[str, int]
    renames: Mapping[str, str] = field(default_factory=dict)

    def with_spelling(self, spelling: Mapping[str, str]) -> Footer:
        """Return this footer, marked for a copy if the file spells a column differently: delta-rs would read nulls.

        Args:
            spelling: the table's spelling by lower-case name.
        """
        renames = {field.name: spelling.get(fold_name(field.name), field.name) for field in self.fields}
        renames = {own: name for own, name in renames.items() if own != name}
        if not renames:
            return self
        own, name = next(iter(renames.items()))
        return replace(self, copied=self.copied or f"column {own} is {name} in the table", renames=renames)

    def constant_text(self, column: str) -> str | None:
        """Return the one value that a column has in every row, as text, where the statistics prove it; else None."""
        name = next((field.name for field in self.fields if fold_name(field.name) == fold_name(column)), None)
        low = self.minimum.get(name or "")
        same = low is not None and self.maximum.get(name or "") == low and self.nulls.get(name or "") == 0
        return str(low) if same else None

    def stats(self, spelling: Mapping[str, str], personal: Collection[str] = ()) -> str:
        """Return Delta's statistics JSON, with columns spelled as the table spells them.

        Args:
            spelling: the table's spelling by lower-case name; columns that are not in it are left out.
            personal: lower-case names of columns that are left out.
        """

        def respell_names(values: dict[str, Any]) -> dict[str, Any]:
            kept = {name: value for name, value in values.items() if not is_personal(name, personal)}
            return {spelling[fold_name(name)]: value for name, value in kept.items() if fold_name(name) in spelling}

        return json.dumps(
            {
                "numRecords": self.rows,
                "minValues": respell_names(self.minimum),
                "maxValues": respell_names(self.maximum),
                "nullCount": respell_names(self.nulls),
            },
            separators=(",", ":"),
        )


def footer_bytes(tail: bytes, size: int) -> int:
    """Return how many bytes at the object's end hold the whole footer.

    Args:
        tail: the object's last bytes, at least 8 unless the object is smaller.
        size: the object's size in bytes.

    Raises:
        BadParquet: empty, truncated, encrypted or no Parquet, or the footer is longer than `MAX_FOOTER_BYTES`.
    """
    if size == 0:
        raise BadParquet("empty file")
    if size < _TRAILER + len(MAGIC) or tail[-4:] != MAGIC:
        kind = "its footer is encrypted" if tail[-4:] == b"PARE" else "no Parquet footer at its end"
        raise BadParquet(f"truncated or not Parquet: {kind}")
    length = int.from_bytes(tail[-8:-4], "little") + _TRAILER
    if length + len(MAGIC) > size:
        raise BadParquet(f"truncated or not Parquet: its footer claims {length} bytes of {size}")
    if length > MAX_FOOTER_BYTES:
        raise BadParquet(
            f"its footer has {length:,} bytes, and at most {MAX_FOOTER_BYTES:,} are read: write the file with fewer "
            "row groups or columns"
        )
    return length


def read_footer(tail: bytes, size: int) -> Footer:
    """Parse the footer at the end of `tail`.

    Args:
        tail: the object's last bytes, at least `footer_bytes` of them.
        size: the object's size in bytes.

    Raises:
        BadParquet: the footer cannot be read, points past the file's end, contradicts itself, or has a type that no
            table has.

    Some corrupt footers make Arrow abort the process: `tidegate.platform.lake.parquet.footers` calls this in a child.
    """
    length = footer_bytes(tail, size)
    try:
        return _parse(tail[-length:], data_end=size - length)
    except BadParquet:
        raise
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        raise BadParquet(f"truncated or not Parquet: {str(error).splitlines()[0]}") from error


def footer_metadata(tail: bytes) -> Mapping[bytes, bytes]:
    """Return what the writer of a file wrote into its footer by name. The footer is one that `read_footer` can read.

    Args:
        tail: the object's last bytes, at least `footer_bytes` of them.
    """
    length = int.from_bytes(tail[-8:-4], "little") + _TRAILER
    return pq.read_metadata(pa.BufferReader(MAGIC + tail[-length:])).metadata or {}


def _parse(footer: bytes, *, data_end: int) -> Footer:
    metadata = pq.read_metadata(pa.BufferReader(MAGIC + footer))
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    if sum(group.num_rows for group in groups) != metadata.num_rows:
        raise BadParquet(f"its footer contradicts itself: {metadata.num_rows} rows, its row groups have others")
    for group in groups:
        for index in range(group.num_columns):
            column = group.column(index)
            if (column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size > data_end:
                raise BadParquet(f"truncated: column {column.path_in_schema} is past the end of the data")
    schema = metadata.schema.to_arrow_schema()
    if not len(schema):
        raise BadParquet("it has no columns; write at least one")
    found = [metadata.schema.column(index) for index in range(len(metadata.schema))]
    fields, bounds = [], []
    leaf = 0
    for arrow_field in schema:
        paths = leaf_paths(arrow_field.type, arrow_field.name)
        flat = found[leaf] if paths == [arrow_field.name] else None
        int96 = flat is not None and flat.physical_type == "INT96"
        kind = Simple("timestamp") if int96 else _type(arrow_field, flat)
        # A column that has no values yet says nothing of its type: it joins the table with a file that has some.
        if (typed := typed_part(kind)) is not None:
            fields.append(Field(arrow_field.name, typed))
            if flat is not None:
                bounds.append(column_bounds(arrow_field.name, kind, groups, leaf, bounded=not int96))
        leaf += len(paths)
    if not fields:
        raise BadParquet("no column of it has a type, because all values are null; write its columns with types")
    return Footer(metadata.num_rows, tuple(fields), why_copied(metadata, schema), *_join_bounds(bounds))


def _type(column: Any, leaf: Any) -> Any:
    if leaf is not None and leaf.logical_type.type == "UUID":
        return Simple("string")
    return table_type(column.type, column.name)


def _join_bounds(bounds: list[Bounds]) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    """Return Delta's three maps, of as many columns as Delta keeps statistics of by default."""
    kept = bounds[:_INDEXED_COLUMNS]
    return (
        {column.name: column.minimum for column in kept if column.minimum is not None},
        {column.name: column.maximum for column in kept if column.maximum is not None},
        {column.name: column.nulls for column in kept if column.nulls is not None},
    )


@dataclass(frozen=True)
class Bounds:
    """What is known of one column's values in a file; None for what is not proven.

    Attributes:
        minimum: lower bound, as Delta writes it.
        maximum: upper bound.
        nulls: number of null values.
    """

    name: str
    minimum: Any
    maximum: Any
    nulls: int | None


def column_bounds(name: str, kind: Type, groups: Sequence[pq.RowGroupMetaData], leaf: int, *, bounded: bool) -> Bounds:
    """Return the bounds of a file's column; a bound of the file needs a bound of every row group that has values.

    Args:
        name: the column.
        kind: its type in the table.
        groups: the file's row groups.
        leaf: the column's position in them.
        bounded: whether the file's bounds are in the order that Spark compares in.
    """
    low: list[Any] = []
    high: list[Any] = []
    nulls: list[int | None] = []
    for group in groups:
        stats: Any = group.column(leaf).statistics  # the stubs misspell has_null_count
        nulls.append(stats.null_count if stats and stats.has_null_count else None)
        if nulls[-1] == group.num_rows:
            continue
        there = bounded and stats is not None and stats.has_min_max
        low.append(_convert_bound(kind, _read(stats, "min"), upper=False) if there else None)
        high.append(_convert_bound(kind, _read(stats, "max"), upper=True) if there else None)
    return Bounds(
        name,
        min(low) if low and None not in low else None,
        max(high) if high and None not in high else None,
        sum(count for count in nulls if count is not None) if None not in nulls and nulls else None,
    )


def _read(stats: Any, which: str) -> Any:
    """Return a bound as a Python value; None where Python has none for it (the year 10000, a string that was cut)."""
    try:
        return getattr(stats, which)
    except (ValueError, OverflowError, pa.ArrowException):
        return None


def _convert_bound(column: Type, value: Any, *, upper: bool) -> Any:
    """Return a bound as Delta's statistics hold it, or None unless the type is on the proven list.

    A wrong bound makes rows vanish from selective queries, so every doubt ends in None. Floating point has no upper
    bound: Parquet's statistics leave out NaN, which Spark sorts above every number.
    """
    kind = column.name if isinstance(column, Simple) else ""
    if kind in ("byte", "short", "integer", "long") and isinstance(value, int):
        return value
    if kind == "date" and isinstance(value, date):
        return value.isoformat() if value.year >= _GREGORIAN else None
    if kind in ("float", "double") and isinstance(value, float):
        return None if upper or not math.isfinite(value) else value
    if kind in ("timestamp", "timestamp_ntz") and isinstance(value, datetime):
        return _millis(value, upper=upper, zoned=kind == "timestamp")
    if kind == "string" and isinstance(value, str) and len(value.encode()) <= _STRING_BOUND_BYTES:
        return value
    return None


def _millis(value: datetime, *, upper: bool, zoned: bool) -> str | None:
    """Return milliseconds, which are all that Delta keeps: an upper bound is rounded up to the next one."""
    if value.year < 1900 or value.year > 9990:
        return None
    if zoned:
        value = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if upper and value.microsecond % 1000:
        value += timedelta(milliseconds=1)
    return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}" + ("Z" if zoned else "")
