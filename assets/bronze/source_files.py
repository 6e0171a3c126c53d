"""Source objects as Spark can read them without losing any: safe names, known headers, known endings."""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from dataclasses import dataclass
from urllib.parse import quote

from ulid import ULID

from tidegate.platform.core.file_format import Format, format_of
from tidegate.platform.core.footers import FooterField
from tidegate.platform.core.planning import Candidate
from tidegate.platform.core.schema import Misfit
from tidegate.resources.lake import Lake, Table

#: Keys that every layer of Spark's readers takes as they are. Others are skipped, globbed, decoded or not found
#: (``_x``, ``b[1].json``, ``a//b``, ``100%.json``), so they are copied to a plain name first.
_PLAIN_KEY = re.compile(r"^(?!.*//)(?!.*/\./)(?!.*/\.\./)[A-Za-z0-9/_.=-]+$")
_HEADER_BYTES = 1 << 20
#: Delta's column names without column mapping (Parquet's own restriction).
_BAD_NAME = re.compile(r"[ ,;{}()\n\t=]")


@dataclass(frozen=True)
class SourceFile:
    """A candidate, ready to be read.

    Attributes:
        path: ``s3a://`` path that Spark reads: the object itself, or its copy under a plain name.
        header: a CSV file's column names, in its own order; empty for other formats.
        fields: a Parquet file's top-level columns; empty for other formats.
    """

    candidate: Candidate
    format: Format
    path: str
    header: tuple[str, ...] = ()
    fields: tuple[FooterField, ...] = ()


def source_file(lake: Lake, table: Table, candidate: Candidate) -> SourceFile:
    """Make one candidate readable.

    Raises:
        Misfit: the object cannot be loaded; the message is the reason.
        ObjectChanged: it is no longer what the look saw.
        StoreError: S3 did not answer.
    """
    key = candidate.key
    format = table.spec.format or format_of(key)
    if format is None:
        raise Misfit(
            f"no format is known for the ending of {key.rsplit('/', 1)[-1]}; set `format` of the table in lake.yaml"
        )
    if candidate.found.size == 0:
        raise Misfit("empty file")
    header = _header(lake, table, candidate) if format == "csv" else ()
    return SourceFile(candidate, format, _path(lake, table, candidate), header)


def _path(lake: Lake, table: Table, candidate: Candidate) -> str:
    bucket, key = table.key.bucket, candidate.key
    if _PLAIN_KEY.match(key):
        return f"s3a://{bucket}/{key}"
    name = key.rsplit("/", 1)[-1]
    ending = re.search(r"(\.[A-Za-z0-9]+){0,2}$", name)
    plain = lake.store.key("staging", table.text, f"{ULID()}{ending.group(0) if ending else ''}")
    lake.store.objects.copy(bucket, key, candidate.found.etag, lake.store.bucket, plain)
    return f"s3a://{lake.store.bucket}/{quote(plain)}"


def _header(lake: Lake, table: Table, candidate: Candidate) -> tuple[str, ...]:
    head = lake.store.objects.first_bytes(
        table.key.bucket, candidate.key, candidate.found.etag, min(_HEADER_BYTES, candidate.found.size)
    )
    if candidate.key.endswith(".gz"):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, _HEADER_BYTES)
        except zlib.error as error:
            raise Misfit(f"its name ends in .gz, but it is not gzip: {error}") from error
    try:
        # The cut may fall inside a character.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=len(head) < _HEADER_BYTES)
    except UnicodeDecodeError as error:
        raise Misfit(f"not UTF-8: {error.reason} at byte {error.start}") from error
    names = next(csv.reader(io.StringIO(text)), [])
    if not names:
        raise Misfit("no header line")
    for name in names:
        if not name or _BAD_NAME.search(name):
            raise Misfit(
                f"header names a column {name!r}; a name must not be empty or hold any of ' ,;{{}}()=', tab, newline"
            )
    if len({name.lower() for name in names}) != len(names):
        raise Misfit("header names a column twice")
    return tuple(names)
