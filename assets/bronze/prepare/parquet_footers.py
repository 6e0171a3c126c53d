"""The footers of Parquet candidates, for registered and for loaded tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidegate.assets.bronze.prepare.prepared import Prepared
from tidegate.platform.core.bronze.plan import Candidate, Found, Plan, Probe
from tidegate.platform.core.files.parquet.bad import BadParquet
from tidegate.platform.core.files.parquet.footer import Footer, footer_bytes
from tidegate.resources.aws.s3 import ObjectStore, StoreError, parallel
from tidegate.resources.parquet.footers import read_footers

#: Read from a file's end at first; a footer is rarely longer.
_TAIL_BYTES = 64 * 1024


def probe_with_footer(objects: ObjectStore, bucket: str, key: str) -> Probe:
    """A Parquet object's present state, with its footer if that is as short as most."""
    probe, tail = objects.head_with_tail(bucket, key, _TAIL_BYTES)
    if not isinstance(probe, Found) or not tail:
        return probe
    try:
        length = footer_bytes(tail, probe.size)
    except BadParquet:
        return probe
    return replace(probe, footer=tail[-length:]) if length <= len(tail) else probe


def parquet_footers(
    objects: ObjectStore, bucket: str, candidates: Iterable[Candidate], plan: Plan, prepared: Prepared
) -> list[tuple[Candidate, Footer]]:
    """The candidates whose footer can be read, in order, with it.

    One that is no Parquet, or that S3 will not give, is quarantined; one that changed since the look, or that S3 did
    not give now, is deferred.
    """
    tails: list[tuple[Candidate, bytes]] = []
    for candidate, tail in parallel(lambda one: (one, _tail(objects, bucket, one)), candidates):
        if isinstance(tail, bytes):
            tails.append((candidate, tail))
        else:
            prepared.failed(plan, candidate, tail)
    readable = []
    footers = read_footers([(tail, candidate.found.size) for candidate, tail in tails])
    for (candidate, _), footer in zip(tails, footers, strict=True):
        if isinstance(footer, BadParquet):
            prepared.failed(plan, candidate, footer)
        else:
            readable.append((candidate, footer))
    return readable


def _tail(objects: ObjectStore, bucket: str, candidate: Candidate) -> bytes | BadParquet | StoreError:
    found = candidate.found
    if found.footer is not None:
        return found.footer
    try:
        tail = objects.tail(bucket, candidate.key, found.etag, min(_TAIL_BYTES, found.size))
        length = footer_bytes(tail, found.size)
        if length > len(tail):
            tail = objects.tail(bucket, candidate.key, found.etag, length)
        return tail[-length:]
    except (BadParquet, StoreError) as error:
        return error
