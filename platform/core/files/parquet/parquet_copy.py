"""A copy of a Parquet file that Spark reads as the writer meant it.

Run as a process of its own, `python -m … <source> <target> <renames as JSON>`: Arrow's C++ aborts on some corrupt
files. It ends with `BAD` and prints the reason where the file is at fault.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidegate.platform.core.errors import BadParquet
from tidegate.platform.core.files.parquet.arrow_types import copied_type, has_type, is_list, is_uuid, typed_places
from tidegate.platform.core.files.parquet.spark_support import MAX_ROW_BYTES

#: Exit code where the file cannot be copied.
BAD = 3
_BATCH_ROWS = 64 * 1024
#: Arrow's bytes of a row group, of which Parquet's columns take up to four times as many.
_MAX_PORTION_BYTES = MAX_ROW_BYTES // 4
_NANOS = "has values in nanoseconds, finer than a table keeps; write it with microseconds"
#: What Spark takes INT96 for.
_MOMENT = pa.timestamp("us", "UTC")


def write_copy(source: Path, target: Path, renames: Mapping[str, str]) -> None:
    """Write the copy: same columns and rows, in types, encodings and a codec that Spark reads.

    Nanoseconds become microseconds, unsigned numbers the next wider type, times and UUIDs text, half floats floats;
    columns and fields that hold nothing but nulls of no type, or lists and structs of these, are left out.

    Args:
        source: the file.
        target: its copy.
        renames: what the copy calls some columns, by their names in the file.

    Raises:
        BadParquet: the file cannot be read, or a value has no equal in the copy's type.
    """
    try:
        # Arrow's nanoseconds end in 2262; of a later INT96 they are another moment.
        file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
        int96 = _int96(file)
        _require_microseconds(source, int96)
        names = [field.name for field in file.schema_arrow if has_type(field.type)]
        uuids = _uuids(file)
        schema = pa.schema(
            [
                pa.field(
                    name,
                    pa.string()
                    if name in uuids
                    else _MOMENT
                    if name in int96
                    else copied_type(file.schema_arrow.field(name).type),
                )
                for name in names
            ]
        )
        named = pa.schema([field.with_name(renames.get(field.name, field.name)) for field in schema])
        with pq.ParquetWriter(target, named, compression="zstd", store_schema=False) as writer:
            for batch in file.iter_batches(_BATCH_ROWS, columns=None):
                columns = [
                    _convert_column(batch.column(name), schema.field(name), uuids=name in uuids) for name in names
                ]
                for portion in _portions(pa.RecordBatch.from_arrays(columns, schema=named)):
                    writer.write_batch(portion)  # a row group of its own, so that no page is larger
    except BadParquet:
        raise
    except MemoryError as error:
        raise BadParquet("it does not unpack within the memory of this machine") from error
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise BadParquet(f"no copy that Spark reads can be made of it: {str(error).splitlines()[0]}") from error


def _portions(batch: Any) -> Iterator[Any]:
    """Divide rows into portions that fit into memory as one page each."""
    if batch.nbytes <= _MAX_PORTION_BYTES:
        yield batch
    elif batch.num_rows == 1:
        if batch.nbytes > MAX_ROW_BYTES:
            raise BadParquet(f"a row of it has more than {MAX_ROW_BYTES >> 20} MiB; write smaller values")
        yield batch
    else:
        middle = batch.num_rows // 2
        yield from _portions(batch.slice(0, middle))
        yield from _portions(batch.slice(middle))


def _uuids(file: pq.ParquetFile) -> set[str]:
    """Return the columns of UUIDs, by Arrow's type or by Parquet's."""
    leaves = [file.schema.column(index) for index in range(len(file.schema))]
    found = {leaf.path for leaf in leaves if leaf.logical_type.type == "UUID" and leaf.max_repetition_level == 0}
    return {field.name for field in file.schema_arrow if is_uuid(field.type) or field.name in found}


def _int96(file: pq.ParquetFile) -> list[str]:
    """Return the columns in Parquet's old type of timestamps.

    Inside of other types only Spark's are taken, which need no look.
    """
    leaves = [file.schema.column(index) for index in range(len(file.schema))]
    flat = {field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)}
    return [leaf.path for leaf in leaves if leaf.physical_type == "INT96" and leaf.path in flat]


def _require_microseconds(source: Path, columns: list[str]) -> None:
    """Refuse INT96 with more digits than microseconds: read as these, Arrow cuts them without a word."""
    if not columns:
        return
    micros = pq.ParquetFile(source, coerce_int96_timestamp_unit="us").iter_batches(_BATCH_ROWS, columns=columns)
    nanos = pq.ParquetFile(source).iter_batches(_BATCH_ROWS, columns=columns)
    for short, long in zip(micros, nanos, strict=True):
        for name in columns:
            # Both may overflow; their difference is what was cut all the same.
            whole = pc.multiply(short.column(name).cast(pa.int64()), 1000)
            if pc.any(pc.not_equal(long.column(name).cast(pa.int64()), whole)).as_py():
                raise BadParquet(f"column {name} {_NANOS}")


def _convert_column(column: Any, field: Any, *, uuids: bool) -> Any:
    try:
        return _uuid_texts(column) if uuids else _cast(column, field.type)
    except (pa.ArrowException, ValueError) as error:
        if pa.types.is_timestamp(column.type) or pa.types.is_time(column.type):
            reason = _NANOS
        else:
            reason = f"does not survive in a table ({str(error).splitlines()[0]}); write it as text"
        raise BadParquet(f"column {field.name} {reason}") from error


def _cast(array: Any, kind: Any) -> Any:
    """Return the array in a copy's type; Arrow's own cast wherever it keeps what the values say."""
    source = array.type
    if pa.types.is_time(source):
        return _time_texts(array)
    if is_uuid(source):
        return _uuid_texts(array)
    if pa.types.is_struct(source):
        flat = array.flatten()
        parts = [_cast(flat[place], field.type) for place, field in zip(typed_places(source), kind, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    if is_list(source) and pa.types.is_nested(source.value_type):
        # Arrow's own cast leaves out some nulls that have no type.
        plain = array if pa.types.is_list(source) else array.cast(pa.list_(source.value_type))
        return pa.ListArray.from_arrays(plain.offsets, _cast(plain.values, kind.value_type), mask=plain.is_null())
    return array.cast(kind)


def _time_texts(array: Any) -> Any:
    """Return times of day as ISO 8601 writes them: without a fraction, or with six digits."""
    if array.type == pa.time64("ns"):
        array = array.cast(pa.time64("us"))  # Python's times would drop nanoseconds without a word
    return pa.array([None if value is None else value.isoformat() for value in array.to_pylist()], pa.string())


def _uuid_texts(array: Any) -> Any:
    raw = array.storage if isinstance(array, pa.ExtensionArray) else array
    return pa.array([None if value is None else str(uuid.UUID(bytes=value)) for value in raw.to_pylist()], pa.string())


if __name__ == "__main__":
    with suppress(OSError):  # only Linux has it: if memory ends, this process ends first, and its file is at fault
        Path("/proc/self/oom_score_adj").write_text("1000")
    try:
        write_copy(Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]))
    except BadParquet as bad:
        print(bad)
        sys.exit(BAD)
