"""The footers of Parquet candidates, for registered and for loaded tables."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.platform.bronze.prepared import PreparedBatch
from tidegate.platform.core.bronze.plan import Candidate
from tidegate.platform.core.files.parquet.bad import BadParquet
from tidegate.platform.core.files.parquet.footer import Footer
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.parquet.footers import read_footers
from tidegate.platform.lake.parquet.tail import footer_tail
from tidegate.platform.lake.threads import parallel


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
            prepared.failed(candidate, tail)
    readable = []
    footers = read_footers([(tail, candidate.found.size) for candidate, tail in tails])
    for (candidate, _), footer in zip(tails, footers, strict=True):
        if isinstance(footer, BadParquet):
            prepared.failed(candidate, footer)
        else:
            readable.append((candidate, footer))
    return readable


def _tail(source: Bucket, candidate: Candidate) -> bytes | BadParquet | StoreError:
    try:
        return footer_tail(source, candidate.key, candidate.found)
    except (BadParquet, StoreError) as error:
        return error
