"""CSV files: cells are read as text and become values by Tidegate's own rules, so that no cell changes its meaning.

`Cell` of platform/jvm defines what each type accepts.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, BinaryIO, cast

from tidegate.platform.bronze.prepare.formats.csv_bytes import MAX_CELLS, csv_problem, seems_by_line
from tidegate.platform.bronze.prepare.formats.format import HEAD_BYTES, Format, Known, Look, Rewrite, SourceFile
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import BadValue, Misfit
from tidegate.platform.core.files.csv_doubts import header_doubt, text_doubts
from tidegate.platform.core.keys.file_format import FORMATS
from tidegate.platform.core.schema.column_types import Decimal, Field, Simple, Type, fold_name
from tidegate.platform.core.schema.names import SOURCE_COLUMNS, check_names
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.schema.type_union import parse_shown_field
from tidegate.platform.lake.spark.delta import Delta

#: Encodings, by Python's names, that Spark's reader reads correctly. A file in another encoding is rewritten.
_SPARK_READS = ("utf-8", "ascii")
#: Packed CSV is rewritten up to this many bytes, unpacked, because its copy is written to the disk first.
_MAX_UNPACKED_BYTES = 4 << 30
#: Rows of a table's first file whose cells are compared with its columns.
_DOUBTED_ROWS = 1_000
_DELIMITERS = {";": '";"', "\t": 'a tab ("\\t")', "|": '"|"'}

_CELL_TYPES = {
    "string", "binary", "byte", "short", "integer", "long", "float", "double", "boolean", "date", "timestamp",
    "timestamp_ntz",
}  # fmt: skip


class Csv(Format):
    """CSV as RFC 4180 defines it, or as the table's `csv` options do."""

    file_format = FORMATS["csv"]
    readers = ("csv",)
    names_columns = True
    guesses = True

    def look(self, head: bytes, whole: bool, spec: TableSpec) -> Look:
        """Return the header's names, and how the lines of the file are written."""
        options = spec.csv.choose_options(head)
        try:
            rows, trailing = _first_rows(head, whole, options)
        except csv.Error as error:
            raise Misfit(f"broken quoting in its first lines: {error}") from error
        if not rows:
            raise Misfit("no header line")
        if len(rows[0]) > MAX_CELLS:
            raise Misfit(
                f"its first row has {len(rows[0]):,} cells, and a row has {MAX_CELLS:,} at most; write it as rows"
            )
        names = _names(rows[0], options, tuple(spec.columns))
        if options.header and len(rows) > 1 and not trailing:
            _check_shape(rows[0], rows[1:], options)
        check_names([Field(name, Simple("string")) for name in names], reserved=SOURCE_COLUMNS)
        plain = options.encoding in _SPARK_READS and not options.skip
        unnamed = tuple(place for place, cell in enumerate(rows[0]) if options.header and not cell.lstrip("\ufeff"))
        by_line = seems_by_line(head, whole, options)
        return Look(names, None if plain else _PlainText(options), by_line, trailing, unnamed)

    def doubts(self, key: str, head: bytes, whole: bool, spec: TableSpec, schema: TableSchema) -> list[str]:
        """Return doubts about a header that looks like values, and columns that are text because of a few cells."""
        try:
            names, columns = _first_cells(head, whole, spec.csv.choose_options(head))
        except csv.Error as error:
            raise BadValue(str(error)) from error
        declared = {fold_name(name) for name in spec.columns}
        text = {field.name for field in schema.columns if field.type == Simple("string")}
        header = header_doubt(names) if spec.csv.header and not declared else None
        cells = {name: some for name, some in columns.items() if name in text and fold_name(name) not in declared}
        return ([f"of {key}, {header}"] if header else []) + text_doubts(cells, spec.csv.nulls)

    def group(self, file: SourceFile) -> Hashable:
        """Group files by header, because cells are matched by position."""
        return file.names, file.trailing, file.unnamed

    def infer(self, delta: Delta, groups: Sequence[Sequence[SourceFile]], spec: TableSpec, known: Known) -> list[Field]:
        """Return the narrowest types that hold each cell as it is written."""
        no_cells = {fold_name(field.name) for field in known.schema.columns if not has_cells(field.type)}
        # A header that names a struct makes its files misfits, so they have no say.
        able = [files for files in groups if no_cells.isdisjoint(map(fold_name, files[0].names))]
        if not able:
            return []
        asked = known.request((_reading_options(files, spec), files) for files in able)
        return [parse_shown_field(field) for field in delta.infer_csv(asked, known.schema)["fields"]]

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Return how the cells are read. A cell whose value would differ from its text makes its row bad.

        Raises:
            Misfit: cells cannot hold values of a column's type.
        """
        names = {fold_name(name) for name in files[0].names}
        for field in schema.columns:
            if fold_name(field.name) in names:
                check_type(field.type)
        return _reading_options(files, spec)

    def problem(self, body: BinaryIO, *, packed: bool, spec: TableSpec, limit: int) -> str | None:
        """Read the bytes as the standard says. Returns why that is impossible, or None."""
        return csv_problem(body, spec.csv, packed=packed, limit=limit)


class _PlainText(Rewrite):
    """The file's text in UTF-8, without the lines before the header."""

    limit = _MAX_UNPACKED_BYTES
    streams = True
    too_large = (
        f"unpacked, it has more than {_MAX_UNPACKED_BYTES >> 30} GiB, and a copy of it all is needed for its encoding, "
        "or the lines before its header; write it in UTF-8 without such lines, or in parts"
    )

    def __init__(self, options: CsvOptions) -> None:
        self._options = options

    def write(self, body: BinaryIO, target: BinaryIO) -> None:
        reader = io.TextIOWrapper(io.BufferedReader(cast(io.RawIOBase, body)), self._options.codec, newline="")
        try:
            for _ in range(self._options.skip):
                if len(reader.readline(HEAD_BYTES)) == HEAD_BYTES:
                    raise Misfit(f"a line before its header has {HEAD_BYTES:,} characters or more; is it CSV?")
            while chunk := reader.read(1 << 20):
                target.write(chunk.encode())
        except UnicodeDecodeError as error:
            raise _encoding_misfit(self._options, error) from error


def _first_rows(head: bytes, whole: bool, options: CsvOptions) -> tuple[list[list[str]], bool]:
    """Return the header and the first row; more rows, if that one has one cell more than the header has names.

    Also returns whether each row ends with a delimiter that the header has not. A quoted empty cell is a cell, as in
    `CsvLines` of platform/jvm.

    Raises:
        csv.Error: the quoting of the header, or of the first row, is broken.
    """
    lines = _Lines(_decode_text(head, whole, options))
    rows = ((row, row[-1] == "" and lines.ends_with(options.delimiter)) for row in options.rows(lines) if row)
    found = list(islice(rows, 2))
    more = len(found) == 2 and len(found[1][0]) == len(found[0][0]) + 1
    if more:
        with suppress(csv.Error):  # The reader of the whole file says what is wrong with it.
            found += islice(rows, _DOUBTED_ROWS)
        if not whole and 2 < len(found) <= _DOUBTED_ROWS:
            found.pop()  # It may be cut off.
    width = len(found[0][0]) + 1 if found else 0
    trailing = options.header and more and all(len(row) == width and ends for row, ends in found[1:])
    return [row for row, _ in found], trailing


class _Lines:
    """The lines of a text, of which the last one that was read is kept: a row shows no quotes of its cells."""

    def __init__(self, text: str) -> None:
        self._lines, self._line = io.StringIO(text, newline=""), ""

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self._line = line
            yield line

    def ends_with(self, delimiter: str) -> bool:
        return self._line.rstrip("\r\n").endswith(delimiter)


def _first_cells(head: bytes, whole: bool, options: CsvOptions) -> tuple[list[str], dict[str, list[str]]]:
    text = codecs.getincrementaldecoder(options.codec)().decode(head, final=whole)
    rows = [row for row in islice(options.rows(io.StringIO(text, newline="")), _DOUBTED_ROWS + 1) if row]
    if not whole and len(rows) <= _DOUBTED_ROWS:
        rows = rows[:-1]  # The last row may be cut off.
    if not rows:
        return [], {}
    names = rows[0] if options.header else [f"_c{place}" for place in range(len(rows[0]))]
    cells = rows[1:] if options.header else rows
    return names, {name: [row[place] for row in cells if place < len(row)] for place, name in enumerate(names)}


def _reading_options(files: Sequence[SourceFile], spec: TableSpec) -> dict[str, Any]:
    options = spec.csv
    return {
        "reader": "csv",
        "whole": not files[0].by_line,
        "names": files[0].names,
        "declared": [fold_name(name) for name in spec.columns],
        "csv": {
            "delimiter": options.delimiter,
            "quote": options.quote,
            "comment": options.comment,
            "nulls": options.nulls,
            "decimal": options.decimal,
            "header": options.header,
            "trailing": files[0].trailing,
            "unnamed": files[0].unnamed,
        },
    }


def _decode_text(head: bytes, whole: bool, options: CsvOptions) -> str:
    try:
        # The bytes may end inside a character.
        return codecs.getincrementaldecoder(options.codec)().decode(head, final=whole)
    except UnicodeDecodeError as error:
        raise _encoding_misfit(options, error) from error


def _encoding_misfit(options: CsvOptions, error: UnicodeDecodeError) -> Misfit:
    return Misfit(
        f"not {options.encoding.upper()}: {error.reason} at byte {error.start}; if it is another encoding, set "
        "`csv: {encoding: …}` of the table in lake.yaml"
    )


def _names(first: list[str], options: CsvOptions, declared: tuple[str, ...]) -> tuple[str, ...]:
    if not options.header:
        # Columns that lake.yaml declares name the cells, in the order of lake.yaml.
        return tuple([*declared, *(f"_c{index}" for index in range(len(declared), len(first)))][: len(first)])
    if len(first) == 1 and (
        found := [other for other in _DELIMITERS if other in first[0] and other != options.delimiter]
    ):
        raise Misfit(
            f"its header has one column, {first[0][:60]!r}: it looks separated by {_DELIMITERS[found[0]]}; set "
            "`csv: {delimiter: …}` of the table in lake.yaml"
        )
    # A mark may be behind skipped lines, too.
    return tuple(name or f"_c{index}" for index, name in enumerate([first[0].lstrip("\ufeff"), *first[1:]]))


def _check_shape(header: Sequence[str], rows: Sequence[Sequence[str]], options: CsvOptions) -> None:
    # One such row among others is a bad row.
    if all(len(row) == len(header) + 1 for row in rows):
        raise Misfit(
            f"its header names {len(header)} columns, each row has {len(header) + 1} cells: if the first cell is a row "
            "name, as R's write.table leaves it without a header, write the file with `col.names = NA`, or set "
            f"`csv: {{header: false, skip: {options.skip + 1}}}` of the table in lake.yaml"
        )


def has_cells(kind: Type) -> bool:
    """Return whether cells can hold values of a type."""
    match kind:
        case Decimal():
            return True
        case Simple(name):
            return name in _CELL_TYPES
    return False


def check_type(kind: Type) -> None:
    """Check that cells can hold values of a type.

    Raises:
        Misfit: they cannot.
    """
    if not has_cells(kind):
        raise Misfit(f"a cell of text cannot hold {kind.sql()}; change the column's type in lake.yaml")
