"""Parquet candidates of registered and of loaded tables: their footers, columns of their path, and copies for Spark."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.object_state import Probe, S3Found
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.errors import BadParquet, Misfit
from tidegate.platform.core.files.parquet.footer import Footer, footer_bytes
from tidegate.platform.core.keys.object_key import key_length_problem
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import NotWritable, ObjectChanged, ObjectRefused, StoreError
from tidegate.platform.lake.parquet.copies import ParquetCopy, copy_parquet
from tidegate.platform.lake.parquet.footers import read_footers
from tidegate.platform.lake.threads import parallel

#: Seconds after which a batch begins no further copy. One copy may take half an hour, and a run an hour.
_SECONDS = 600.0

#: A candidate, the footer of the file that enters the table, and the copy if a copy enters instead of the candidate.
Ready = tuple[Candidate, Footer, ParquetCopy | None]
_TOO_MANY = (
    f"Spark would misread files of its dataset, and copies of them take longer than {_SECONDS / 60:.0f} minutes: write "
    "it as several datasets, each with a signal of its own, or as Parquet that Spark reads"
)

#: Bytes of the first read of a file's end; a footer is rarely longer.
_TAIL_BYTES = 64 * 1024


def parquet_footers(
    source: Bucket, candidates: Iterable[Candidate], prepared: PreparedBatch
) -> list[tuple[Candidate, Footer]]:
    """Return the candidates whose footer can be read, in order, each with its footer.

    A candidate that is not Parquet, or that S3 refuses to return, is quarantined. A candidate that changed since the
    look, or that S3 did not return now, is deferred.
    """
    tails: list[tuple[Candidate, bytes]] = []
    for candidate, tail in parallel(lambda candidate: (candidate, _tail(source, candidate)), candidates):
        if isinstance(tail, bytes):
            tails.append((candidate, tail))
        else:
            prepared.record_failure(candidate, tail)
    readable = []
    footers = read_footers([(tail, candidate.found.size) for candidate, tail in tails])
    for (candidate, _), footer in zip(tails, footers, strict=True):
        if isinstance(footer, BadParquet):
            prepared.record_failure(candidate, footer)
        else:
            readable.append((candidate, footer))
    return readable


def _tail(source: Bucket, candidate: Candidate) -> bytes | BadParquet | StoreError:
    try:
        return footer_tail(source, candidate.key, candidate.found)
    except (BadParquet, StoreError) as error:
        return error


def copy_files(
    bucket: Bucket,
    files: Sequence[tuple[Candidate, Footer]],
    place: Callable[[Candidate], S3Address],
    prepared: PreparedBatch,
) -> list[Ready]:
    """Copy each file that needs a copy.

    Returns the files in order, each with its copy if there is one. A file that cannot be copied is quarantined. A file
    that changed since the look is deferred, and so is a file whose copy may not be written, or has no time. A part of a
    dataset that has no time is quarantined: with the next batch, the copies of all parts would begin again.

    Args:
        files: candidates and their footers.
        place: returns the address for a candidate's copy.
        prepared: records what happens to the files that are not returned.

    Raises:
        StoreError: S3 did not answer, or does not accept the copies.
        DeadlineExceeded: the time of the batch is over.
    """

    until = time.monotonic() + _SECONDS
    together = {key for dataset in prepared.plan.datasets for key in dataset.keys}

    def copy(file: tuple[Candidate, Footer]) -> ParquetCopy | BadParquet | StoreError | None:
        candidate, footer = file
        if time.monotonic() > until:
            return None if candidate.key not in together else BadParquet(_TOO_MANY)
        source, target = bucket.version(candidate.key, candidate.found.etag), place(candidate)
        if why := key_length_problem(target.key, "its copy, which Spark reads instead of it,"):
            return BadParquet(why)
        try:
            return copy_parquet(bucket.objects, source, target, footer.renames)
        except (BadParquet, ObjectChanged, ObjectRefused, NotWritable) as error:
            return error

    copies = parallel(copy, [file for file in files if file[1].copied], os.cpu_count() or 1)
    ready: list[Ready] = []
    for candidate, footer in files:
        if not footer.copied:
            ready.append((candidate, footer, None))
            continue
        match next(copies):
            case None:
                prepared.defer(candidate)
            case ParquetCopy() as parquet_copy:
                ready.append((candidate, parquet_copy.footer, parquet_copy))
            case error:
                prepared.record_failure(candidate, error)
    return ready


def check_both(footer: Footer, path: Mapping[str, str | None]) -> None:
    """Refuse a file if one of its columns may have another value than the file's path.

    Readers of a Delta table use the path's value and never read the file's value.

    Raises:
        Misfit: the file's statistics do not prove that both values are equal.
    """
    for name, value in path.items():
        if (
            any(fold_name(field.name) == fold_name(name) for field in footer.fields)
            and footer.constant_text(name) != value
        ):
            raise Misfit(
                f"column {name} is in the file and in its path ({name}={value}), and the file's statistics do not "
                "prove that both say the same; leave it out of the file"
            )


def probe_with_footer(source: Bucket, key: str) -> Probe:
    """Return a Parquet object's present state, with its footer unless that is longer than the first read."""
    probe, tail = source.objects.head_with_tail(source.name, key, _TAIL_BYTES)
    if not isinstance(probe, S3Found) or not tail:
        return probe
    try:
        length = footer_bytes(tail, probe.size)
    except BadParquet:
        return probe
    return replace(probe, footer=tail[-length:]) if length <= len(tail) else probe


def footer_tail(source: Bucket, key: str, found: S3Found) -> bytes:
    """Return the bytes of an object's footer, on condition that the object is the one found.

    Raises:
        BadParquet: the object is not a Parquet file.
        ObjectChanged: the object has another etag, or is gone.
        StoreError: S3 did not answer.
    """
    if found.footer is not None:
        return found.footer
    version = source.version(key, found.etag)
    tail = source.objects.tail(version, min(_TAIL_BYTES, found.size))
    length = footer_bytes(tail, found.size)
    if length > len(tail):
        tail = source.objects.tail(version, length)
    return tail[-length:]
