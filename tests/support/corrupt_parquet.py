"""Parquet files that were damaged: in the footer, so that Arrow aborts, or in a data page."""

from __future__ import annotations

from tidegate.platform.core.parquet.footer import footer_bytes
from tidegate.resources.footer_reader import read_footers


def that_aborts_arrow(body: bytes) -> bytes:
    """The file with one bit of its footer flipped, so that Arrow's C++ aborts instead of raising."""
    start = len(body) - footer_bytes(body[-8:], len(body))
    flipped = [
        body[:at] + bytes([body[at] ^ (1 << bit)]) + body[at + 1 :]
        for at in range(start, len(body) - 8)
        for bit in (0, 1)
    ]
    found = read_footers([(one[start:], len(one)) for one in flipped])
    for one, footer in zip(flipped, found, strict=True):
        if "crashes" in str(footer):
            return one
    raise AssertionError("no flipped bit kills Arrow any more: children may be unnecessary")


def with_a_page_of_nonsense(body: bytes) -> bytes:
    """The file with other bytes in a data page; its footer is whole."""
    assert len(body) > 20_000, "the footer would be hit"
    return body[:5000] + b"\xaa" * 4000 + body[9000:]
