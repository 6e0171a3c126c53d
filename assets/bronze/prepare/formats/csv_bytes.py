"""What Spark's CSV reader passes over without a word, found in the bytes of one file."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from tidegate.assets.bronze.prepare.room import TooLarge
from tidegate.platform.core.config.csv_options import CsvOptions

#: Characters of the longest row.
MOST_ROW = 1 << 28
# Python's own limit of a cell, 131072, is below what Spark reads.
csv.field_size_limit(MOST_ROW)


def csv_problem(body: BinaryIO, options: CsvOptions, *, packed: bool, most: int = MOST_ROW) -> str | None:
    """Read a whole CSV file as RFC 4180, or the options, say; why it cannot be read so, or None.

    Spark takes a quote that is never closed for a cell that goes on to the end of the file, and puts the replacement
    character for bytes that are not of the encoding.

    Args:
        body: the file, read once; not all of it is held in memory.
        options: how the file is written.
        packed: it is gzip.
        most: characters of a row that may be held.

    Raises:
        TooLarge: a row has more.
    """
    plain = cast(BinaryIO, gzip.GzipFile(fileobj=body)) if packed else body
    text = io.TextIOWrapper(io.BufferedReader(cast(io.RawIOBase, plain)), options.codec, newline="")
    lines = _Lines(text, most)
    rows = options.rows(lines, strict=True)
    begins = 1 + options.skip
    try:
        for _ in rows:
            lines.row_ended()
            begins = rows.line_num + 1 + options.skip
    except UnicodeDecodeError as error:
        return f"not {options.encoding.upper()}, in or after line {begins}: {error.reason}"
    except csv.Error as error:
        told = f"broken quoting in the row that begins in line {begins}: {error}"
        return f"{told}; close each quote, and double the quotes inside a cell: write the file again"
    except (EOFError, zlib.error) as error:
        return f"broken gzip: {error}"
    return None


class _Lines(Iterator[str]):
    """Lines of a text, while no row has too many characters: where a quote is never closed, all that follows is one."""

    def __init__(self, text: io.TextIOWrapper, most: int) -> None:
        self._text, self._most = text, most
        self._left = most

    def __next__(self) -> str:
        line = self._text.readline(self._left + 1)
        if not line:
            raise StopIteration
        self._left -= len(line)
        if self._left < 0:
            raise TooLarge
        return line

    def row_ended(self) -> None:
        """A row ended with the last line."""
        self._left = self._most


def seems_by_line(head: bytes, whole: bool, options: CsvOptions) -> bool:
    """Whether the first bytes of a file look as if no cell went on in the next line.

    It need not be right: the reader of lines finds any line that is not a row for itself.
    """
    marks = [mark.encode() for mark in (options.delimiter, options.quote, options.comment or "#")]
    if any(len(mark) > 1 for mark in marks) or (not whole and b"\n" not in head):
        return False
    if options.encoding not in ("utf-8", "ascii"):
        return True  # It is rewritten, and what is in it is not known yet.
    lines = head.split(b"\n")
    quote = marks[1]
    return quote not in head or all(line.count(quote) % 2 == 0 for line in (lines if whole else lines[:-1]))
