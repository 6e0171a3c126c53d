"""The footers of Parquet candidates, for registered and for loaded tables."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.assets.bronze.prepare.prepared import Prepared
from tidegate.platform.core.bronze.plan import Candidate, Plan
from tidegate.platform.core.files.parquet.bad import BadParquet
from tidegate.platform.core.files.parquet.footer import Footer
from tidegate.resources.aws.s3 import ObjectStore, StoreError
from tidegate.resources.parquet.footers import read_footers
from tidegate.resources.parquet.tail import footer_tail
from tidegate.resources.threads import parallel


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
    try:
        return footer_tail(objects, bucket, candidate.key, candidate.found)
    except (BadParquet, StoreError) as error:
        return error
