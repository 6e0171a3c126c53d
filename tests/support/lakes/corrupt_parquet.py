"""Parquet files that are damaged, or that one reader accepts and another refuses."""

from __future__ import annotations

from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.platform.core.files.parquet.footer import footer_bytes
from tidegate.platform.lake.parquet.footers import read_footers


def that_aborts_arrow(body: bytes) -> bytes:
    """Return the file with one bit of its footer flipped, so that Arrow's C++ aborts instead of raising."""
    start = len(body) - footer_bytes(body[-8:], len(body))
    flipped = [
        body[:at] + bytes([body[at] ^ (1 << bit)]) + body[at + 1 :]
        for at in range(start, len(body) - 8)
        for bit in (0, 1)
    ]
    found = read_footers([(body[start:], len(body)) for body in flipped])
    for body, footer in zip(flipped, found, strict=True):
        if "crashes" in str(footer):
            return body
    raise AssertionError("no flipped bit aborts Arrow any more: child processes may be unnecessary")


def with_a_page_of_nonsense(body: bytes) -> bytes:
    """Return the file with other bytes in a data page, and an intact footer."""
    assert len(body) > 20_000, "the footer would be hit"
    return body[:5000] + b"\xaa" * 4000 + body[9000:]


def that_only_arrow_reads(body: bytes) -> bytes:
    """Return the file, without lists, whose pages name an encoding of repetition levels that Spark does not know."""
    start = len(body) - footer_bytes(body[-8:], len(body))
    levels = b"\x15\x06\x15\x06"  # the encodings of definition levels and of repetition levels, both RLE
    assert levels in body[:start], "a data page's header is written otherwise by now"
    return body[:start].replace(levels, b"\x15\x06\x15\x02") + body[start:]


def by_a_library_that_miscounts(table: pa.Table) -> bytes:
    """Return a file as an old Parquet library for Java wrote it: the columns' sizes lack the dictionaries' headers."""
    buffer = BytesIO()
    pq.write_table(table, buffer, compression="none", write_statistics=False, store_schema=False)
    body = with_smaller_columns(buffer.getvalue(), 15)
    writer = pq.read_metadata(BytesIO(body)).created_by
    return _with_footer(body, _footer(body).replace(_text(writer), _text("parquet-mr")))


def with_smaller_columns(body: bytes, less: int) -> bytes:
    """Return the file, of one row group, with a footer in which each column is this number of bytes too small."""
    footer, group = _footer(body), pq.read_metadata(BytesIO(body)).row_group(0)
    for column in (group.column(index) for index in range(group.num_columns)):
        uncompressed, compressed = column.total_uncompressed_size, column.total_compressed_size
        sizes = _size(uncompressed) + _size(compressed)
        assert footer.count(sizes) == 1, "another number looks the same; take other values"
        footer = footer.replace(sizes, _size(uncompressed - less) + _size(compressed - less))
    return _with_footer(body, footer)


def _footer(body: bytes) -> bytes:
    return body[len(body) - footer_bytes(body[-8:], len(body)) : -8]


def _with_footer(body: bytes, footer: bytes) -> bytes:
    start = len(body) - footer_bytes(body[-8:], len(body))
    return body[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _text(text: str) -> bytes:
    return b"\x28" + _varint(len(text)) + text.encode()


def _size(number: int) -> bytes:
    return b"\x16" + _varint(2 * number)


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])
