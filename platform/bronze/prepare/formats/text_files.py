"""Files of text lines, whose columns a pattern finds: logs, mostly. Nothing but lake.yaml gives a column a type."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, BinaryIO

from tidegate.platform.bronze.prepare.formats.csv_files import check_type
from tidegate.platform.bronze.prepare.formats.format import Format, Known, Look, SourceFile
from tidegate.platform.bronze.prepare.formats.json_files import Utf8
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.config.text_options import TextOptions
from tidegate.platform.core.files.utf_16 import is_utf_16, utf_16_text
from tidegate.platform.core.keys.file_format import FORMATS
from tidegate.platform.core.schema.column_types import Field, fold_name
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.delta import Delta


class TextLines(Format):
    """Lines of text, each a row."""

    file_format = FORMATS["text"]
    readers = ("text",)
    names_columns = True

    def look(self, head: bytes, whole: bool, spec: TableSpec) -> Look:
        """Return the columns: those of the pattern, or of the header that the preset has."""
        if is_utf_16(head):
            return Look(_options(spec).names(utf_16_text(head).encode()), Utf8())
        return Look(_options(spec).names(head))

    def group(self, file: SourceFile) -> Hashable:
        """Group files by header, because parts are matched by position."""
        return file.names

    def infer(self, delta: Delta, groups: Sequence[Sequence[SourceFile]], spec: TableSpec, known: Known) -> list[Field]:
        """Return the columns that the table does not have: with the type of the preset, and text otherwise."""
        types = _options(spec).types
        names = dict.fromkeys(name for files in groups for name in files[0].names)
        return [
            Field(name, parse_sql_type(types.get(name, "string")))
            for name in names
            if known.schema.find_column(name) is None
        ]

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Return how lines are read. A part whose value would differ from its text makes its row bad.

        Raises:
            Misfit: a part of a line cannot hold values of a column's type.
        """
        options, names = _options(spec), files[0].names
        folded = [fold_name(name) for name in names]
        for field in schema.columns:
            if fold_name(field.name) in folded:
                check_type(field.type)
        return {
            "reader": "text",
            "whole": not files[0].by_line,
            "names": names,
            # No type is inferred, so 007 is a number wherever a number is wanted.
            "declared": folded,
            "pattern": options.lines(names).groups,
            "csv": {
                "comment": options.comment,
                "nulls": options.null_texts,
                "header": options.skips_first,
                "delimiter": " ",
                "quote": '"',
                "decimal": ".",
                "unnamed": (),
            },
        }

    def problem(self, body: BinaryIO, *, packed: bool, spec: TableSpec, limit: int) -> str | None:
        """Return why a suspect file cannot be read: the server is sure that it has a second header, of other fields."""
        return (
            "a header in it names other fields than the first, or in another order, and nobody knows which rows are "
            "whose: it was put together from several files; write them as files of their own"
        )


def _options(spec: TableSpec) -> TextOptions:
    assert spec.text is not None
    return spec.text
