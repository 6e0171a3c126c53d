"""Source objects as files that Spark reads without losing any: safe names, known headers, known endings."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, cast

from tidegate.platform.bronze.prepare.file_access import FileAccess
from tidegate.platform.bronze.prepare.formats.format import HEAD_BYTES, Format, Rewrite, SourceFile
from tidegate.platform.bronze.prepare.formats.registry import format_of_file
from tidegate.platform.bronze.small_objects import CONTENT_BYTES, SMALL_BYTES, Held, content
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.files.gzip_members import BrokenGzip, GzipMembers, read_beginning
from tidegate.platform.core.keys.binary_files import explain_binary
from tidegate.platform.core.keys.file_format import GZIP, refusal
from tidegate.platform.core.keys.s3_address import S3Object, plain_address
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.capacity import SMALL, SMALL_FILE, Bounded, TooLarge, name_full_disk, run_bounded


def source_file(spec: TableSpec, access: FileAccess, candidate: Candidate, held: Held) -> SourceFile:
    """Make one candidate readable.

    Args:
        held: the contents of small files that the batch holds.

    Raises:
        Misfit: the object cannot be loaded; the message is the reason.
        ObjectChanged: the object is no longer the one that the look saw.
        StoreError: S3 did not answer.
    """
    format, source = format_of_file(spec, candidate.key), access.source
    if candidate.found.size == 0:
        raise Misfit("empty file")
    if not format.file_format.text:
        return _binary_file(access, candidate, format, held)
    if why := refusal(candidate.key):
        raise Misfit(why)
    body = _small_content(source, candidate)
    head, whole = head_of(source, candidate) if body is None else (body, True)
    if why := explain_binary(head):
        raise Misfit(why)
    seen = format.look(head, whole, spec)
    content = None if body is None else _read_plain(body, seen.rewrite)
    if content is not None and not held.take(len(content)):
        content = None
    if content is not None:
        path, size = _version(source, candidate).address.s3, len(content)  # Nothing is read there.
    elif seen.rewrite:
        path, size = _rewrite_object(access, candidate, seen.rewrite)
    else:
        path, size = _path(access, candidate), candidate.found.size
    return SourceFile(
        candidate,
        format,
        path,
        size,
        seen.names,
        body=content,
        by_line=seen.by_line,
        trailing=seen.trailing,
        unnamed=seen.unnamed,
    )


def _binary_file(access: FileAccess, candidate: Candidate, format: Format, held: Held) -> SourceFile:
    """Return a file that declares its columns.

    The content of a small file is held, unless its format has a footer that is read from S3.
    """
    size = candidate.found.size
    if not format.file_format.footer and size <= SMALL_BYTES and held.take(size):
        body = _first_bytes(access.source, candidate, size)
        return SourceFile(candidate, format, _version(access.source, candidate).address.s3, size, body=body)
    return SourceFile(candidate, format, _path(access, candidate), size)


@contextmanager
def open_stored_bytes(source: Bucket, candidate: Candidate) -> Iterator[BinaryIO]:
    """Open the bytes that the look saw, from the beginning, as they are in S3.

    Raises:
        ObjectChanged: the object is no longer the one that the look saw, and its body did not come with the look.
        StoreError: S3 did not answer.
    """
    if candidate.found.body is not None:
        yield io.BytesIO(candidate.found.body)
        return
    with source.objects.open_version(_version(source, candidate)) as body:
        yield body


@contextmanager
def open_unpacked(source: Bucket, candidate: Candidate) -> Iterator[BinaryIO]:
    """Open the object's bytes from the beginning, unpacked if its name says gzip.

    Raises:
        Misfit: while the bytes are read, if they are not gzip or were cut off.
        ObjectChanged: the object is no longer the one that the look saw.
        StoreError: S3 did not answer.
    """
    with open_stored_bytes(source, candidate) as body:
        if not is_gzip(candidate):
            yield body
            return
        try:
            yield cast(BinaryIO, GzipMembers(body))
        except BrokenGzip as error:
            raise Misfit(f"broken gzip: {error}; write the file again") from error


def is_gzip(candidate: Candidate) -> bool:
    """Return whether the object's name says that it is gzip."""
    return candidate.key.endswith(GZIP)


def head_of(source: Bucket, candidate: Candidate) -> tuple[bytes, bool]:
    """Return the first bytes of a candidate, unpacked, and whether they are the whole file.

    Raises:
        Misfit: the object is not gzip although its name says so.
        ObjectChanged: the object is no longer the one that the look saw.
        StoreError: S3 did not answer.
    """
    wanted = min(HEAD_BYTES, candidate.found.size)
    head = _first_bytes(source, candidate, wanted)
    whole = wanted == candidate.found.size
    if is_gzip(candidate):
        try:
            head, ended = read_beginning(head, HEAD_BYTES)
        except BrokenGzip as error:
            raise Misfit(f"its name ends in {GZIP}, but it is not gzip: {error}") from error
        whole = whole and ended
    return head, whole


def _version(source: Bucket, candidate: Candidate) -> S3Object:
    """Return the version of the object that the look saw."""
    return source.version(candidate.key, candidate.found.etag)


def _first_bytes(source: Bucket, candidate: Candidate, length: int) -> bytes:
    found = candidate.found
    if found.body is not None:
        return found.body[:length]
    return source.objects.piece(_version(source, candidate), 0, length)


def _small_content(source: Bucket, candidate: Candidate) -> bytes | None:
    """Return all bytes of a small candidate, unpacked, or None if they must be read in parts or by Spark itself."""
    size = candidate.found.size
    return content(candidate.key, _first_bytes(source, candidate, size)) if size <= SMALL_BYTES else None


def _read_plain(body: bytes, rewrite: Rewrite | None) -> bytes | None:
    """Return the content as Spark's readers accept it, or None if it is too large to be held."""
    if rewrite is None:
        return body
    target = io.BytesIO()
    rewrite.write(io.BytesIO(body), target)
    return target.getvalue() if target.tell() <= CONTENT_BYTES else None


def _path(access: FileAccess, candidate: Candidate) -> str:
    seen = _version(access.source, candidate)
    if address := plain_address(seen.address):
        return address
    ending = re.search(r"(\.[A-Za-z0-9]+){0,2}$", candidate.key.rsplit("/", 1)[-1])
    place = access.scratch.place(ending.group(0) if ending else "")
    access.source.objects.copy(seen, place.address)
    return place.path


def _rewrite_object(access: FileAccess, candidate: Candidate, rewrite: Rewrite) -> tuple[str, int]:
    place = access.scratch.place(".txt")

    def write(limit: int) -> int:
        with TemporaryDirectory(prefix="tidegate-rewrite-") as folder:
            plain = Path(folder) / "plain"
            with open_unpacked(access.source, candidate) as body, plain.open("wb") as target:
                rewrite.write(cast(BinaryIO, io.BufferedReader(Bounded(body, limit), 1 << 16)), target)
            access.source.objects.upload(*place.address, plain)
            return plain.stat().st_size

    size = candidate.found.size
    known = rewrite.streams and not is_gzip(candidate)
    limit = max(size, rewrite.limit) if known else rewrite.limit
    small = SMALL_FILE if rewrite.streams else SMALL
    wanted = (
        f"{candidate.key} has to be rewritten there; free some of it, or set TMPDIR to a folder on another one. "
        "Nothing is lost: the files wait"
    )
    try:
        with name_full_disk(wanted):
            return place.path, run_bounded(write, limit, shared_max_bytes=small, min_bytes=size)
    except TooLarge:
        raise Misfit(rewrite.too_large) from None
