"""Gzip is read from the first byte to the last, or is broken, in one place for all readers."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import zlib

import pytest

from tidegate.platform.core.files.gzip_members import BrokenGzip, GzipMembers, TruncatedGzip, read_beginning

ROWS = b'{"id": 1}\n' * 3
WHOLE = gzip.compress(ROWS, mtime=0)


def read(packed: bytes, piece: int = 1 << 16) -> bytes:
    stream, parts = GzipMembers(io.BytesIO(packed)), list[bytes]()
    while part := stream.read(piece):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
@pytest.mark.parametrize(
    ("packed", "content"),
    [
        (WHOLE, ROWS),
        (WHOLE * 3, ROWS * 3),
        (gzip.compress(b"") + WHOLE + gzip.compress(b"") * 2 + WHOLE, ROWS * 2),
        (gzip.compress(b""), b""),
        (gzip.compress(ROWS[:7]) + gzip.compress(ROWS[7:]), ROWS),
        (b"", b""),
    ],
    ids=["one", "three", "empty ones", "empty", "a row in two", "nothing"],
)
def test_the_content_is_that_of_all_members(packed: bytes, content: bytes, piece: int) -> None:
    assert read(packed, piece) == content
    assert read_beginning(packed, len(content)) == (content, True)
    if content:
        assert read_beginning(packed, len(content) - 1) == (content[:-1], False)


def test_a_large_content_is_read_in_pieces() -> None:
    content = random.Random(1).randbytes(200_000) + b"x" * 3_000_000
    assert read(gzip.compress(content) * 2) == content * 2


def test_what_ends_anywhere_but_after_a_member_is_cut_off() -> None:
    for end in range(1, 2 * len(WHOLE)):
        packed = (WHOLE * 2)[:end]
        if end == len(WHOLE):
            assert read(packed) == ROWS
            continue
        with pytest.raises(TruncatedGzip):
            read(packed)
        found, whole = read_beginning(packed, 1_000)
        assert not whole
        assert (ROWS * 2).startswith(found)


@pytest.mark.parametrize("after", [b"\0" * 512, b"rubbish", ROWS, b"\x1f\x8c", bz2.compress(ROWS), zlib.compress(ROWS)])
def test_what_follows_the_last_member_must_be_a_member(after: bytes) -> None:
    for packed in (WHOLE + after, after):
        with pytest.raises(BrokenGzip):
            read(packed)
        with pytest.raises(BrokenGzip):
            read_beginning(packed, 1_000)


def test_every_changed_bit_of_content_is_found() -> None:
    for place in range(10, len(WHOLE)):
        changed = bytearray(WHOLE)
        changed[place] ^= 1
        with pytest.raises(BrokenGzip):
            read(bytes(changed))
