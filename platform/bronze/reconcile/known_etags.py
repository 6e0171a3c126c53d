"""Finds objects of a listing whose bytes the ledger knows by another etag. A listing has no checksums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidegate.platform.core.bronze.object_state import S3Found, same_bytes
from tidegate.platform.lake.aws.s3 import Listed
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.ledger import Reading


def replace_known_etags(table: Table, present: Sequence[Listed], readings: Iterable[Reading]) -> list[Listed]:
    """Replace the etags of listed objects by the etags that the ledger has for the same bytes.

    S3 is asked only for objects with an unknown etag and the size of a reading that has a checksum.
    """
    last: dict[str, list[Reading]] = {}
    for reading in sorted(readings, key=lambda reading: -reading.n):
        last.setdefault(reading.key, []).append(reading)
    unsure = [item.key for item in present if _may_be_known(item, last.get(item.key, []))]
    if not unsure:
        return list(present)
    probes = table.source.head_many(unsure)

    def known(item: Listed) -> Listed:
        found = probes.get(item.key)
        if not isinstance(found, S3Found):
            return item
        return next(
            (replace(item, etag=reading.etag) for reading in last[item.key] if same_bytes(found, reading)), item
        )

    return [known(item) for item in present]


def _may_be_known(item: Listed, readings: Sequence[Reading]) -> bool:
    if any(reading.etag == item.etag for reading in readings):
        return False
    return any(reading.size == item.size and reading.checksum for reading in readings)
