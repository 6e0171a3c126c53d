"""The delivery with which a bucket leaves the table of inventories: an empty one, as if S3 had written it.

So the rows leave by the way of every inventory: in one commit, once, and earlier versions keep them. If S3 delivers a
newer inventory of the bucket after all, that one counts.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

from tidegate.platform.core.inventory.delivery import BEGAN_TIME, DROPPED, Subject
from tidegate.platform.core.keys.table_key import TableKey


def dropped_delivery(subject: Subject, table: TableKey, destination: str, now: datetime) -> dict[str, bytes]:
    """Return the objects of the delivery by key, in the order in which they must be written.

    Args:
        subject: that leaves the table.
        table: key of the table of inventories.
        destination: ARN of the bucket of the inventories.
        now: the time. Only its minute counts, so that the same command in the same minute writes the same objects.
    """
    began = now.astimezone(UTC).replace(second=0, microsecond=0)
    manifest = json.dumps(
        {
            "sourceBucket": subject.bucket,
            "destinationBucket": destination,
            "version": "2016-11-30",
            "creationTimestamp": str(int(began.timestamp() * 1000)),
            "fileFormat": "CSV",
            "fileSchema": "Bucket, Key",
            "files": [],
        }
    ).encode()
    folder = f"{table.prefix}{subject.bucket}/{subject.configuration}/{began:{BEGAN_TIME}}{DROPPED}/"
    checksum = hashlib.md5(manifest, usedforsecurity=False).hexdigest()
    return {f"{folder}manifest.json": manifest, f"{folder}manifest.checksum": f"{checksum}\n".encode()}
