"""Infers encoding, shape and columns of a text file from its first bytes."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tidegate.platform.core.config.csv_options import USUAL_NULLS, CsvOptions
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.files.csv_doubts import header_doubt, text_doubts, type_of
from tidegate.platform.core.files.gzip_members import BrokenGzip, read_beginning
from tidegate.platform.core.files.text_presets import PRESETS, recognize
from tidegate.platform.core.files.utf_16 import is_utf_16, utf_16_text
from tidegate.platform.core.foreign_json import deep_value_end
from tidegate.platform.core.infer.feeds import is_debezium
from tidegate.platform.core.infer.file_metadata import StatedColumn, parse_stated_columns
from tidegate.platform.core.infer.json_types import JsonTypes, Written, whole_number
from tidegate.platform.core.json_scanner import json_end
from tidegate.platform.core.keys.binary_files import binary_format, explain_binary
from tidegate.platform.core.keys.file_format import FormatName
from tidegate.platform.core.schema.column_types import MAX_LEVELS, fold_name
from tidegate.platform.core.schema.names import SOURCE_COLUMNS

#: Bytes of a file that are read.
SAMPLE = 1 << 16
#: Lines that are searched for a header.
_PREAMBLE = 20
#: The line before the header with which some programs name the delimiter for Excel.
_EXCEL_SEPARATOR = re.compile("sep=.", re.IGNORECASE)
#: With a decimal comma, a point is not part of a number.
_OTHER_MARKS = str.maketrans(",.", ".,")
_DELIMITERS = (",", ";", "\t", "|")
#: Codes of countries and languages. NA is Namibia among them.
_CODES = re.compile(r"[A-Z]{2}([ ,;|/]+[A-Z]{2})*")
#: The beginning of an object that has its rows in an array, as CloudTrail writes it.
_RECORDS = re.compile(r'\{\s*"(Records)"\s*:\s*(?=\[\s*\{)')
#: Columns of CloudTrail: a time, and parts that have other fields in each service, which would be thousands of columns.
_OF_CLOUDTRAIL: Mapping[str, str] = {
    "eventTime": "timestamp",
    "requestParameters": "string",
    "responseElements": "string",
    "additionalEventData": "string",
    "serviceEventDetails": "string",
}
_NULL = "a row has to be a JSON object, and one is null; wrap it"
_TOO_DEEP = f"its objects are nested deeper than {MAX_LEVELS} levels; write deeper parts as text"


@dataclass
class SniffedFile:
    """The inferred properties of a file.

    Attributes:
        columns: SQL types by name, in the file's order; guessed from the sample.
        options: the options of its format that the file needs.
        declared: SQL types that lake.yaml should give columns, by name.
        problems: a sentence with the remedy for each expected problem.
        stated: what the file states of the columns of its rows, by name.
        rows: the rows of the sample. Empty if a file of this format shows its columns without its rows.
        reads_alike: returns whether a table with some options of the format reads in the sample what `options` read.
    """

    columns: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    declared: Mapping[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    stated: dict[str, StatedColumn] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] = field(default=(), compare=False, repr=False)
    reads_alike: Callable[[Mapping[str, Any]], bool] = field(default=lambda _: True, compare=False, repr=False)


@dataclass(frozen=True)
class FileSample:
    """A file of which some bytes can be read.

    Attributes:
        size: bytes of the file.
        first_bytes: returns the first bytes of the file, up to a number.
        last_bytes: returns the last bytes of the file, up to a number.
    """

    size: int
    first_bytes: Callable[[int], bytes]
    last_bytes: Callable[[int], bytes]

    def text(self) -> tuple[bytes, bool]:
        """Return the first bytes, unpacked, and whether they are the whole file.

        Raises:
            ValueError: it begins like gzip but is not gzip.
        """
        head = unpack_head(self.first_bytes(SAMPLE))
        return head, self.size <= SAMPLE and len(head) < SAMPLE


def unpack_head(head: bytes) -> bytes:
    """Return the first bytes of a file, decompressed if it is gzip.

    Raises:
        BadValue: it begins like gzip but is not gzip.
    """
    if head[:2] != b"\x1f\x8b":
        return head
    try:
        return read_beginning(head, SAMPLE)[0]
    except BrokenGzip as error:
        raise BadValue(f"it begins like gzip, but it is not: {error}; write it again") from error


def format_of_bytes(head: bytes) -> FormatName:
    """Return the format of a file whose name does not show it.

    Raises:
        BadValue: it is neither a text nor of a format of tables. The message is the problem.
    """
    if format := binary_format(head):
        return format
    if why := explain_binary(head):
        raise BadValue(why)
    if recognize(head):
        return "text"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return "json" if text[:1] in (b"{", b"[") else "csv"


def sniff_csv(head: bytes, *, whole: bool) -> SniffedFile:
    """Infer from the first bytes of a CSV file. `whole`: whether these are all of its bytes.

    Raises:
        BadValue: the bytes are not rows. The message is the problem.
    """
    if why := explain_binary(head):
        raise BadValue(why)
    sniffed = SniffedFile()
    lines = [line.removesuffix("\r") for line in _text(head, whole, sniffed).split("\n")]
    if sniffed.options.get("encoding") == "windows-1252":
        _check_windows(head, sniffed)
    # The last line is cut off, or what follows the last line's end.
    if not whole or not lines[-1]:
        lines.pop()
    try:
        _sniffed_csv(lines, sniffed)
    except csv.Error as error:
        raise BadValue(f"it cannot be read as CSV ({error}); write its lines with line feeds at their ends") from error
    own = CsvOptions(**sniffed.options)
    sniffed.reads_alike = lambda options: _read(head, whole, own) == _read(head, whole, CsvOptions(**options))
    return sniffed


def _read(head: bytes, whole: bool, options: CsvOptions) -> list[list[str | float | None]] | None:
    """Return the names and the rows that a table with these options reads in a sample; None if it reads none."""
    options = options.choose_options(head)
    text = io.StringIO(head.decode(options.codec, "replace"), newline="")
    try:
        rows = [row for row in options.rows(text) if row]
    except csv.Error:
        return None
    if not whole:
        rows = rows[:-1]  # The last row may be cut off.
    names: list[str | float | None] = [*rows.pop(0)] if options.header and rows else [None]
    return [names, *([_value(cell, options) for cell in row] for row in rows)]


def _value(cell: str, options: CsvOptions) -> str | float | None:
    if not cell or cell in options.nulls:
        return None
    plain = cell.translate(_OTHER_MARKS) if options.decimal == "," else cell
    return float(plain) if type_of([plain]) in ("bigint", "double") else cell


def _sniffed_csv(lines: Sequence[str], sniffed: SniffedFile) -> None:
    delimiter, skip = _layout(lines, sniffed)
    rows = [row for row in csv.reader(lines[skip:], delimiter=delimiter) if row]
    if sniffed.options.get("comment"):
        rows = [row for row in rows if not row[0].startswith("#")]
    if not rows:
        sniffed.problems.append("it has no header line; write one, or say header: false")
        return
    header = rows[0]
    if all(type_of([cell]) in ("bigint", "double") for cell in header):
        sniffed.options["header"] = False
        header = [f"_c{place}" for place in range(len(header))]
    else:
        rows = rows[1:]
        sniffed.problems += filter(None, [header_doubt(header)])
        header = [name or f"_c{place}" for place, name in enumerate(header)]
    _check_names(header, sniffed)
    uneven = sum(len(row) != len(header) for row in rows)
    if uneven:
        sniffed.problems.append(
            f"{uneven} of {len(rows)} rows do not have {len(header)} cells; they will be quarantined"
        )
    columns = [[row[place] for row in rows if len(row) > place] for place in range(len(header))]
    _nulls_and_decimals(columns, delimiter, sniffed)
    nulls = sniffed.options.get("nulls", [""])
    sniffed.rows = [
        {name: None if cell in nulls else cell for name, cell in zip(header, row, strict=False)} for row in rows
    ]
    for name, cells in zip(header, columns, strict=True):
        plain = [cell.replace(",", ".") if "decimal" in sniffed.options else cell for cell in cells]
        sniffed.columns[name] = type_of([cell for cell in plain if cell not in nulls])
        if sniffed.columns[name] == "string":
            sniffed.problems += text_doubts({name: plain}, nulls)


def sniff_text(head: bytes) -> SniffedFile:
    """Infer from the first bytes of a log of AWS.

    Raises:
        BadValue: the bytes are of no known log. The message is the problem.
    """
    name = recognize(head)
    if name is None:
        raise BadValue("it is of no log that `text` has a preset for; write a `pattern`, or move it to another folder")
    preset = PRESETS[name]
    columns = {column: preset.types.get(column, "string") for column in preset.names(head)}
    return SniffedFile(columns, {"preset": name}, reads_alike=lambda options: options.get("preset") == name)


def sniff_json(head: bytes, *, whole: bool) -> SniffedFile:
    """Infer from the first bytes of JSON: lines, an array, or concatenated objects.

    Raises:
        BadValue: the bytes cannot be read. The message is the problem.
    """
    if why := explain_binary(head):
        raise BadValue(why)
    sniffed = SniffedFile()
    text = _text(head, whole, sniffed).strip()
    if "encoding" in sniffed.options:
        sniffed.options.clear()
        sniffed.problems.append("it is not UTF-8, which JSON must be; write it in UTF-8")
    if (found := _RECORDS.match(text)) and _ends_the_object(text, found.end()):
        sniffed.options["records"] = found[1]
        # Messages of S3 have a version, too.
        sniffed.declared = _OF_CLOUDTRAIL if '"eventVersion"' in text and '"eventID"' in text else {}
        text = text[found.end() :]
    records = sniffed.options.get("records")
    sniffed.reads_alike = lambda options: options.get("records") == records
    types = JsonTypes()
    objects = list(_objects(text.lstrip("[").lstrip(), whole and not text.startswith("["), sniffed))
    for record in objects:
        _check_names(list(record), sniffed)
        types.take(record)
        if "payload" in record:
            sniffed.stated.update(parse_stated_columns(record.get("schema")))
    if not objects and not sniffed.problems:
        sniffed.problems.append("no JSON object is in its first bytes; a row has to be an object")
    sniffed.columns, sniffed.rows = {**types.sql(), **sniffed.declared}, objects
    if _NULL in sniffed.problems and is_debezium(sniffed.columns):
        sniffed.problems.remove(_NULL)
    return sniffed


def _ends_the_object(text: str, start: int) -> bool:
    """Return whether the value that begins at a place is the last of its object, as far as the text goes."""
    try:
        return text[json_end(text, start) :].lstrip()[:1] in ("", "}")
    except ValueError:
        return True


def check_names(names: Sequence[str], *, loaded: bool) -> list[str]:
    """Return the problems of a file's column names."""
    problems = []
    for first, second in pairwise(sorted(names, key=lambda name: (fold_name(name), name))):
        if fold_name(first) == fold_name(second):
            problems.append(f"columns {first!r} and {second!r} are the same to Spark; rename one")
    ours = [name for name in names if loaded and fold_name(name) in SOURCE_COLUMNS]
    return problems + [f"column {name!r} is one that Tidegate adds to loaded tables; rename it" for name in ours]


def _check_names(names: Sequence[str], sniffed: SniffedFile) -> None:
    sniffed.problems += [problem for problem in check_names(names, loaded=True) if problem not in sniffed.problems]


def _text(head: bytes, whole: bool, sniffed: SniffedFile) -> str:
    if is_utf_16(head):
        sniffed.options["encoding"] = "utf-16"
        return utf_16_text(head)
    try:
        # The cut may fall inside a character.
        return codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=whole)
    except UnicodeDecodeError:
        sniffed.options["encoding"] = "windows-1252"
        return head.decode("windows-1252", "replace")


def _check_windows(head: bytes, sniffed: SniffedFile) -> None:
    try:
        head.decode("windows-1252")
    except UnicodeDecodeError as error:
        sniffed.problems.append(
            f"it is neither UTF-8 nor windows-1252: its byte {error.start} is 0x{head[error.start]:02x}; write the "
            "encoding that it has into `csv`, or write the file in UTF-8"
        )


def _layout(lines: Sequence[str], sniffed: SniffedFile) -> tuple[str, int]:
    """Return the delimiter, and the number of lines before the header: most lines have as many cells as the header."""
    some = [line for line in lines[:200] if line and not line.startswith("#")]
    widths = {mark: _widths(some, mark) for mark in _DELIMITERS}
    usual = {mark: max(counts, key=lambda width: counts[width], default=1) for mark, counts in widths.items()}
    delimiter = max(_DELIMITERS, key=lambda mark: (usual[mark] > 1, widths[mark][usual[mark]]))
    width = usual[delimiter]
    if width == 1:
        return ",", 0
    if delimiter != ",":
        sniffed.options["delimiter"] = delimiter
    fits = [width in _widths([line], delimiter) and not _EXCEL_SEPARATOR.fullmatch(line) for line in lines]
    if any(line.startswith("#") and not fit for line, fit in zip(lines, fits, strict=True)):
        sniffed.options["comment"] = "#"
    before = fits[:_PREAMBLE].index(True) if True in fits[:_PREAMBLE] else 0
    if before and not all(line.startswith("#") for line in lines[:before]):
        sniffed.options["skip"] = before
    return delimiter, before


def _widths(lines: Sequence[str], delimiter: str) -> Counter[int]:
    """Return the number of rows by their number of cells; empty if this delimiter makes no rows of the lines."""
    try:
        return Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return Counter()


def _nulls_and_decimals(columns: Sequence[Sequence[str]], delimiter: str, sniffed: SniffedFile) -> None:
    cells = {cell for column in columns for cell in column}
    if found := [mark for mark in USUAL_NULLS if any(_means_null(mark, column) for column in columns)]:
        sniffed.options["nulls"] = ["", *found]
    if delimiter != "," and any(re.fullmatch(r"-?\d+,\d+", cell) for cell in cells):
        sniffed.options["decimal"] = ","


def _means_null(mark: str, column: Sequence[str]) -> bool:
    others = {cell for cell in column if cell != "" and cell not in USUAL_NULLS}
    return mark in column and not (others and all(map(_CODES.fullmatch, {mark, *others})))


def _objects(text: str, whole: bool, sniffed: SniffedFile) -> Iterable[dict[str, Any]]:
    decoder = json.JSONDecoder(
        object_pairs_hook=lambda pairs: _Pairs(pairs, sniffed), parse_float=Written, parse_int=whole_number
    )
    at = 0
    while at < len(text) and text[at] != "]":
        # The load refuses deeper rows, so they make no columns. The row itself is a level, too.
        if end := deep_value_end(text, at, MAX_LEVELS + 1):
            if _TOO_DEEP not in sniffed.problems:
                sniffed.problems.append(_TOO_DEEP)
            at = _next_value(text, end)
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if whole or at == 0:
                sniffed.problems.append(f"it is not JSON: {error.msg} at character {error.pos}; write it again")
            return
        if value is None:
            # The tombstone of a deleted key, in files of Debezium.
            if _NULL not in sniffed.problems:
                sniffed.problems.append(_NULL)
        elif not isinstance(value, dict):
            sniffed.problems.append(f"a row has to be a JSON object, and one is {json.dumps(value)[:40]}; wrap it")
            return
        else:
            yield value
        at = _next_value(text, at)


def _next_value(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


class _Pairs(dict[str, Any]):
    def __init__(self, pairs: Sequence[tuple[str, Any]], sniffed: SniffedFile) -> None:
        super().__init__(pairs)
        if len(self) < len(pairs):
            twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
            problem = f"an object names {twice!r} twice; rename one"
            if problem not in sniffed.problems:
                sniffed.problems.append(problem)
