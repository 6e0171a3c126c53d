"""The footers of Parquet candidates, for registered and for loaded tables."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.assets.bronze.prepared import Prepared
from tidegate.platform.core.parquet.bad import BadParquet
from tidegate.platform.core.parquet.footer import Footer, footer_bytes
from tidegate.platform.core.planning import Candidate, Plan
from tidegate.resources.footer_reader import read_footers
from tidegate.resources.object_store import ObjectForbidden, ObjectStore, StoreError, parallel

#: Read from a file's end at first; a footer is rarely longer.
_TAIL_BYTES = 64 * 1024


def parquet_footers(
    objects: ObjectStore, bucket: str, candidates: Iterable[Candidate], plan: Plan, prepared: Prepared
) -> list[tuple[Candidate, Footer]]:
    """The candidates whose footer can be read, in order, with it.

    One that is no Parquet, or that S3 will not give, is quarantined; one that changed since the look, or that S3 did
    not give now, is deferred.
    """
    tails: list[tuple[Candidate, bytes]] = []
    for candidate, tail in parallel(lambda one: (one, _tail(objects, bucket, one)), candidates):
        match tail:
            case bytes():
                tails.append((candidate, tail))
            case BadParquet():
                prepared.quarantine(plan, candidate, str(tail))
            case ObjectForbidden():
                prepared.refused(plan, candidate, str(tail))
            case StoreError():
                prepared.defer(plan, candidate)
    readable = []
    footers = read_footers([(tail, candidate.found.size) for candidate, tail in tails])
    for (candidate, _), footer in zip(tails, footers, strict=True):
        if isinstance(footer, BadParquet):
            prepared.quarantine(plan, candidate, str(footer))
        else:
            readable.append((candidate, footer))
    return readable


def _tail(objects: ObjectStore, bucket: str, candidate: Candidate) -> bytes | BadParquet | StoreError:
    found = candidate.found
    try:
        tail = objects.tail(bucket, candidate.key, found.etag, min(_TAIL_BYTES, found.size))
        length = footer_bytes(tail, found.size)
        if length > len(tail):
            tail = objects.tail(bucket, candidate.key, found.etag, length)
        return tail[-length:]
    except (BadParquet, StoreError) as error:
        return error
