"""What Spark's CSV reader passes over without a word, found in the bytes of one file."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from typing import BinaryIO, cast

#: Characters of the longest cell; Python's own limit, 131072, is below what Spark reads.
_LONGEST_CELL = 1 << 28


def csv_problem(body: BinaryIO, *, packed: bool) -> str | None:
    """Read a whole CSV file as RFC 4180 says; why it cannot be read so, or None.

    Spark takes a quote that is never closed for a cell that goes on to the end of the file, and puts the replacement
    character for bytes that are not UTF-8.

    Args:
        body: the file, read once; not all of it is held in memory.
        packed: it is gzip.
    """
    csv.field_size_limit(_LONGEST_CELL)
    plain = cast(BinaryIO, gzip.GzipFile(fileobj=body)) if packed else body
    rows = csv.reader(
        io.TextIOWrapper(io.BufferedReader(cast(io.RawIOBase, plain)), "utf-8-sig", newline=""), strict=True
    )
    begins = 1
    try:
        for _ in rows:
            begins = rows.line_num + 1
    except UnicodeDecodeError as error:
        return f"not UTF-8, in or after line {begins}: {error.reason}"
    except csv.Error as error:
        return f"broken quoting in the row that begins in line {begins}: {error}"
    except (EOFError, zlib.error) as error:
        return f"broken gzip: {error}"
    return None
