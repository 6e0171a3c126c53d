"""A text file of any name and content becomes rows, or is left to the server, which says why, or is refused by name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from tidegate.platform.bronze.prepare.load.readable_files import source_file
from tidegate.platform.bronze.small_objects import SMALL_BYTES, Held
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, PlannedHint
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.keys.file_format import ARCHIVES, REFUSED
from tidegate.platform.core.keys.s3_address import S3Object
from tidegate.platform.lake.aws.bucket import Bucket

ROWS = {"json": b'{"id":1}\n' * 40, "csv": b"id,a\n" + b"1,2\n" * 40}
#: Content by its name, and whether it is gzip from the first byte to the last.
CONTENTS = {
    "plain": (lambda rows: rows, False),
    "gzip": (gzip.compress, True),
    "members": (lambda rows: gzip.compress(rows[:50]) + gzip.compress(b"") + gzip.compress(rows[50:]), True),
    "half": (lambda rows: gzip.compress(rows)[:-9], False),
    "zeros": (lambda rows: gzip.compress(rows) + b"\0" * 512, False),
    "bz2": (bz2.compress, False),
}
#: The first bytes of files that are not text, and what the refusal calls them.
BEGINNINGS = {
    b"PK\x03\x04": "ZIP archive",
    b"PK\x05\x06": "empty ZIP archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "workbook or document of Office before 2007",
    gzip.compress(b"a"): "gzip",
    bz2.compress(b"a"): "bzip2",
    lzma.compress(b"a"): "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"7z\xbc\xaf\x27\x1c": "7-Zip archive",
    b"%PDF-1.7": "PDF",
    b"SQLite format 3\x00": "database of SQLite",
    b"PAR1\x15\x04": "Parquet",
    b"ORC\x0a\x01": "ORC",
    b"Obj\x01": "Avro",
    b" \n<!DOCTYPE html><title>403</title>": "page of HTML",
    b"\xef\xbb\xbf<HTML>": "page of HTML",
}


class Store:
    """A bucket with one object."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def piece(self, version: S3Object, start: int, length: int) -> bytes:
        return self._body[:length]

    @contextmanager
    def open_version(self, version: S3Object) -> Iterator[BinaryIO]:
        yield io.BytesIO(self._body)


def loaded(key: str, format: str, body: bytes, *, large: bool, **more: Any) -> Any:
    spec = TableSpec.model_validate({"name": "t", "prefix": "s3://landing/t/", "format": format, **more})
    source = Bucket(Store(body), "landing")  # type: ignore[arg-type]
    access: Any = SimpleNamespace(source=source)
    size = SMALL_BYTES + 1 if large else len(body)
    found = S3Found("etag", size, 0, body=None if large else body)
    return source_file(
        spec,
        access,
        Candidate(key, found, PlannedHint(Hint(key), "manifest")),
        Held(),
    )


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("format", ROWS)
@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("ending", ["", ".gz", *REFUSED, *ARCHIVES])
def test_a_text_file_is_held_as_its_rows_or_left_to_the_server_or_refused(
    ending: str, content: str, format: str, large: bool
) -> None:
    make, is_gzip = CONTENTS[content]
    key, body = f"t/a.{format}{ending}", make(ROWS[format])
    reason = None
    if ending in (*REFUSED, *ARCHIVES):
        reason = rf"its name ends in \{ending}, and of packed text only gzip is read; write it with gzip"
    elif ending == ".gz" and content in ("plain", "zeros", "bz2"):
        reason = "its name ends in .gz, but it is not gzip: "
    elif ending == "" and content != "plain":
        reason = "^it is packed by bzip2" if content == "bz2" else r"^it is gzip, and its name does not end in \.gz"
    if reason:
        with pytest.raises(Misfit, match=reason):
            loaded(key, format, body, large=large)
        return
    file = loaded(key, format, body, large=large)
    # What is not gzip to its end is never held: the server finds that.
    held = body if ending == "" else ROWS[format] if is_gzip else None
    assert file.body == (None if large else held)
    assert file.path.endswith(key)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16"])
@pytest.mark.parametrize("format", ROWS)
@pytest.mark.parametrize("head", BEGINNINGS, ids=list(BEGINNINGS.values()))
def test_what_is_not_text_is_refused_by_name_whatever_the_table_says_of_its_encoding(
    head: bytes, format: str, encoding: str, large: bool
) -> None:
    """In latin-1 all bytes are letters: the first lines of a workbook were a header, and others were rows."""
    more: dict[str, Any] = {"csv": {"encoding": encoding}} if format == "csv" else {}
    with pytest.raises(Misfit, match=rf"^it is (a |an |packed by )?{BEGINNINGS[head]}"):
        loaded(f"t/a.{format}", format, head + b"\0\n,\n" * 40, large=large, **more)
