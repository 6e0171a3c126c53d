"""JSON files: one object a line. What does not fit is marked instead of lost.

A table of `schema: variant` keeps each object whole, and an output keeps each line as it is.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Collection, Sequence
from typing import Any, BinaryIO, cast

from tidegate.platform.bronze.prepare.formats.format import Format, Known, Look, Rewrite, SourceFile, refusal
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.events.row_queue import ROW_COLUMNS
from tidegate.platform.core.files.utf_16 import is_utf_16
from tidegate.platform.core.foreign_json import require_few_levels
from tidegate.platform.core.json_scanner import TooDeep, json_end
from tidegate.platform.core.keys.file_format import FORMATS
from tidegate.platform.core.schema.column_types import MAX_LEVELS, Array, Field, Map, Simple, Struct, fold_name
from tidegate.platform.core.schema.names import usable_fields
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.schema.type_union import parse_shown_field
from tidegate.platform.lake.spark.delta import Delta

#: Bytes of the longest first line that is parsed for its names.
_MAX_FIRST_LINE_BYTES = 1 << 16

_MAX_UNPACKED_BYTES = 4 << 30


class Json(Format):
    """JSON: a sequence of values. Files of one object a line are read by several tasks."""

    file_format = FORMATS["json"]
    readers = ("json",)

    def look(self, head: bytes, whole: bool, spec: TableSpec) -> Look:
        """Return whether each line seems to be an object, and the names of the first object."""
        if is_utf_16(head):
            return Look(rewrite=Utf8(), by_line=False)
        if spec.json_options.records:
            return Look(by_line=False)
        return Look(names=_first_names(head), by_line=is_by_line(head, whole=whole))

    def infer(self, delta: Delta, groups: Sequence[Sequence[SourceFile]], spec: TableSpec, known: Known) -> list[Field]:
        """Return the columns of all objects. A field that is null everywhere has no type yet and is left out.

        A column of doubles is text if a double would change a value. Objects that are nested deeper than a table can be
        give no columns. Their rows will be refused.
        """
        # A column of such a name makes no row bad where what no column takes is kept as text.
        reserved = None if spec.policy == "rescue" else sorted(known.schema.reserved)
        asked = known.request(
            ({**self._reader_options(files, spec), "refusal": refusal(spec.policy), "reserved": reserved}, files)
            for files in groups
        )
        found = delta.infer_json(asked, known.schema, MAX_LEVELS)
        return usable_fields([parse_shown_field(field) for field in found["fields"]])

    def _reader_options(self, files: Sequence[SourceFile], spec: TableSpec) -> dict[str, Any]:
        # A declared column takes every spelling of its name.
        declared = [fold_name(name) for name in spec.columns]
        return {
            "reader": self.readers[0],
            "whole": not files[0].by_line,
            "declared": declared,
            "records": spec.json_options.records,
        }

    def new_names(self, file: SourceFile, schema: TableSchema) -> Collection[str]:
        """Return none, because the server counts the rows with fields that the table does not have."""
        return ()

    def has_unnamed_columns(self, file: SourceFile, schema: TableSchema) -> bool:
        """Return whether the first object has columns that lake.yaml does not declare."""
        return not file.names or any(schema.find_column(name) is None for name in file.names)

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Return the reader that watches Spark's parser: it finds fields that the table does not have, and drops none.

        Raises:
            Misfit: JSON cannot hold values of a column's type.
        """
        for field in schema.columns:
            check_keys(field)
        is_feed = spec.silver is not None and spec.silver.preset == "debezium"
        # The tombstone of a deleted key is a record without a value, and some sinks write it as a line `null`.
        return {
            **self._reader_options(files, spec),
            "refusal": refusal(spec.policy),
            "reserved": sorted(schema.reserved),
            "leaves_null_out": is_feed,
        }


def _first_names(head: bytes) -> tuple[str, ...]:
    """Return the names that have a value in the object of the first line.

    Returns no names if the line is not an object, is too long, or is nested deeper than a document may be.
    """
    end = head.find(b"\n", 0, _MAX_FIRST_LINE_BYTES)
    line = head[: end if end >= 0 else _MAX_FIRST_LINE_BYTES]
    try:
        text = line.decode(json.detect_encoding(line), "surrogatepass")
        require_few_levels(text)
        first = json.loads(text, parse_int=str)
    except ValueError:
        return ()
    return tuple(name for name, value in first.items() if value is not None) if isinstance(first, dict) else ()


class JsonLines(Json):
    """JSON lines whose values only name the folder that a line belongs to."""

    readers = ("output",)

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Return the reader, and how it names folders."""
        output = spec.output
        assert output is not None
        return {
            **self._reader_options(files, spec),
            "layout": output.template.layout(output.pattern.parts if output.pattern else ()),
        }


class JsonObjects(Json):
    """JSON lines whose objects are kept whole. Only the columns that lake.yaml declares are read out of them."""

    readers = ("variant",)

    def infer(self, delta: Delta, groups: Sequence[Sequence[SourceFile]], spec: TableSpec, known: Known) -> list[Field]:
        """Return none, because new fields are in the objects."""
        return []

    def has_unnamed_columns(self, file: SourceFile, schema: TableSchema) -> bool:
        """Return False, because rows show no columns."""
        return False

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Return the reader, and which members of the lines of a row queue belong to the message and not to its body.

        Raises:
            Misfit: JSON cannot hold values of a column's type.
        """
        return {**super().read(files, schema, spec), "names": list(ROW_COLUMNS) if spec.row_queue else []}


class Utf8(Rewrite):
    """The file's text in UTF-8."""

    limit = _MAX_UNPACKED_BYTES
    streams = True
    too_large = f"unpacked, it has more than {_MAX_UNPACKED_BYTES >> 30} GiB of UTF-16; write it in UTF-8"

    def write(self, body: BinaryIO, target: BinaryIO) -> None:
        """Copy a whole file."""
        reader = io.TextIOWrapper(io.BufferedReader(cast(io.RawIOBase, body)), "utf-16", newline="")
        try:
            while chunk := reader.read(1 << 20):
                target.write(chunk.encode())
        except (UnicodeDecodeError, UnicodeEncodeError) as error:
            raise Misfit(f"not UTF-16: {error.reason} at byte {error.start}; write it in UTF-8") from error


def is_by_line(head: bytes, *, whole: bool) -> bool:
    """Return whether the first line of a file has whole values, by its first bytes.

    The answer may be wrong: the reader of lines finds each line that is not whole. For a file of one line the answer is
    false.
    """
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(head, final=whole).lstrip(" \t\r\n")
    line, end, _ = text.partition("\n")
    if not text.startswith(("{", "[")):
        return bool(end) or whole
    if not (end or whole) or text.startswith("["):
        return False
    try:
        json_end(line, 0)
    except TooDeep:
        return True
    except ValueError:
        return False
    return True


def check_keys(field: Field) -> None:
    """Check that names of JSON can be the keys of a column's maps, at every depth. Spark reads names as text.

    Raises:
        Misfit: they cannot.
    """
    todo = [field.type]
    while todo:
        match todo.pop():
            case Map(key, value):
                if key != Simple("string"):
                    problem = f"column {field.name} has a map by {key.sql()}, and names of JSON are text"
                    raise Misfit(f"{problem}; say `map<string, …>` in `columns` of lake.yaml")
                todo.append(value)
            case Array(element):
                todo.append(element)
            case Struct(fields):
                todo += [child.type for child in fields]
