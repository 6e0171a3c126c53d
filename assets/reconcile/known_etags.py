"""A listing tells no checksums: which of its objects are bytes that the ledger knows by another etag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.same_bytes import same_bytes
from tidegate.resources.aws.s3 import Listed
from tidegate.resources.lake import Table
from tidegate.resources.ledger import Reading


def by_known_etags(table: Table, present: Sequence[Listed], readings: Iterable[Reading]) -> list[Listed]:
    """The objects of a listing, with the etag of the last reading of the same bytes where they have another.

    S3 is asked only for those that have another etag, and the size of a reading with a checksum.
    """
    last: dict[str, list[Reading]] = {}
    for one in sorted(readings, key=lambda one: -one.n):
        last.setdefault(one.key, []).append(one)
    unsure = [item.key for item in present if _may_be_known(item, last.get(item.key, []))]
    if not unsure:
        return list(present)
    probes = table.source.head_many(unsure)

    def known(item: Listed) -> Listed:
        found = probes.get(item.key)
        if not isinstance(found, S3Found):
            return item
        return next((replace(item, etag=one.etag) for one in last[item.key] if same_bytes(found, one)), item)

    return [known(item) for item in present]


def _may_be_known(item: Listed, readings: Sequence[Reading]) -> bool:
    if any(one.etag == item.etag for one in readings):
        return False
    return any(one.size == item.size and one.checksum for one in readings)
