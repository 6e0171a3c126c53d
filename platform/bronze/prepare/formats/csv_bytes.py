"""Faults that Spark's CSV reader ignores silently, found in the bytes of one file."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.files.gzip_members import BrokenGzip, GzipMembers
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.lake.capacity import TooLarge
from tidegate.platform.lake.deadline import seconds_left

#: Characters of the longest row that is read.
MAX_ROW_CHARACTERS = 1 << 26
#: Cells of the widest row that is read. Each takes about sixty bytes, and of a header three times as much.
MAX_CELLS = 100_000
#: Cells that a row may have where its characters are bounded to less.
_FEW_CELLS = 1_000
#: Delimiters of a line from which on those within quotes are not counted.
_COUNTED = 100
#: Lines after which the time is asked for again. Small files unpack to very many.
_LINES = 10_000
_MARK = "\ufeff"
# Python's own limit of a cell is 131072 characters. Spark reads longer cells.
csv.field_size_limit(MAX_ROW_CHARACTERS)


def csv_problem(body: BinaryIO, options: CsvOptions, *, packed: bool, limit: int = MAX_ROW_CHARACTERS) -> str | None:
    """Read a whole CSV file as RFC 4180, or the options, say. Returns why that is impossible, or None.

    Spark takes a quote that is never closed for a cell that continues to the end of the file. It replaces bytes that
    are not of the encoding by the replacement character.

    Args:
        body: the file; it is read once, and is not held in memory as a whole.
        options: how the file is written.
        packed: whether the file is gzip.
        limit: characters of a row that may be held.

    Raises:
        TooLarge: a row has more characters, or more of `MAX_CELLS` than `limit` is of `MAX_ROW_CHARACTERS`.
        DeadlineExceeded: the time of the work is over.
    """
    plain = cast(BinaryIO, GzipMembers(body)) if packed else body
    begun = io.BufferedReader(cast(io.RawIOBase, plain))
    try:
        options = options.choose_options(begun.peek(len(codecs.BOM_UTF8)))
    except BrokenGzip as error:
        return f"broken gzip: {error}; write the file again"
    text = io.TextIOWrapper(begun, options.codec, newline="")
    lines = _Lines(text, limit, options)
    rows = options.rows(lines, strict=True, see=lines.take_cells)
    begins = 1 + options.skip
    header: list[str] = []
    names: set[str] = set()
    try:
        for row in rows:
            if row and _name(row[0]) in names and _is_in_another_order(row, header):
                return (
                    f"line {begins} has the header again, in another order: the file was put together from several; "
                    "write them as files of their own"
                )
            if options.header and not header:
                header = _names(row)
                names = set(header)
            lines.end_row()
            begins = lines.count + 1
    except UnicodeDecodeError as error:
        return f"not {options.encoding.upper()}, in or after line {begins}: {error.reason}"
    except csv.Error as error:
        problem = f"broken quoting in the row that begins in line {begins}: {error}"
        return f"{problem}; close each quote, and double the quotes inside a cell: write the file again"
    except BrokenGzip as error:
        return f"broken gzip: {error}; write the file again"
    return None


def _is_in_another_order(row: Sequence[str], header: Sequence[str]) -> bool:
    """Return whether a row has the names of the header in another order, as `HeaderNames` of platform/jvm says."""
    if len(row) < len(header):
        return False
    cells = _names(row[: len(header)])
    return cells != header and sorted(cells) == sorted(header)


def _names(row: Sequence[str]) -> list[str]:
    return [_name(cell) for cell in row]


def _name(cell: str) -> str:
    return fold_name(cell.lstrip(_MARK).strip())


class _Lines(Iterator[str]):
    """Lines of a text, as long as there is time, and no row has too many characters or cells.

    A byte order mark before a row is not text. If a quote is never closed, all lines that follow are one row. `count`
    is the number of lines so far.
    """

    def __init__(self, text: io.TextIOWrapper, limit: int, options: CsvOptions) -> None:
        self._text, self._limit = text, limit
        self._max_cells = max(MAX_CELLS * limit // MAX_ROW_CHARACTERS, _FEW_CELLS)
        self.end_row()
        self._delimiter = options.delimiter
        quote, delimiter = re.escape(options.quote), re.escape(options.delimiter)
        within = rf"[^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+{quote}?"
        self._rest_of_cell = re.compile(within)
        self._quoted_cell = re.compile(rf"(?:\A|(?<={delimiter})){quote}{within}")
        self.count = 0

    def __next__(self) -> str:
        if self.count % _LINES == 0:
            seconds_left()
        line = self._text.readline(self._left + 1)
        if not line:
            raise StopIteration
        self.count += 1
        begins = self._left == self._limit
        self._left -= len(line)
        if self._left < 0:
            raise TooLarge
        return line.lstrip(_MARK) if begins else line

    def take_cells(self, line: str, begins: bool) -> None:
        """Count the cells of a line before they are made. See `CsvOptions.rows`."""
        cells = line.count(self._delimiter)
        if cells > _COUNTED or not begins:
            text = line if begins else self._rest_of_cell.sub("", line, count=1)
            cells = self._quoted_cell.sub("", text).count(self._delimiter)
        self._cells_left -= cells
        if self._cells_left < 0:
            raise TooLarge

    def end_row(self) -> None:
        """Record that a row ended with the last line."""
        self._left, self._cells_left = self._limit, self._max_cells


def seems_by_line(head: bytes, whole: bool, options: CsvOptions) -> bool:
    """Return whether the first bytes of a file look as if no cell continues in the next line.

    The answer may be wrong: the reader of lines finds each line that is not a complete row.
    """
    marks = [mark.encode() for mark in (options.delimiter, options.quote, options.comment or "#")]
    if any(len(mark) > 1 for mark in marks) or (not whole and b"\n" not in head):
        return False
    if options.encoding not in ("utf-8", "ascii"):
        return True  # The file is rewritten, and the marks cannot be found in its bytes before that.
    lines = head.split(b"\n")
    quote = marks[1]
    return quote not in head or all(line.count(quote) % 2 == 0 for line in (lines if whole else lines[:-1]))
