"""Files that runs which died left behind, found by maintenance in the inventory of the lake's bucket, not in a listing.

Maintenance asks the inventory for tables of 10,000 files and more. The demo's table is smaller, so the demo calls the
functions of maintenance itself. And it does not wait for a retention of days: the table keeps such files for no time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.demo.storage.deliveries import LAKE, deliver
from tidegate.platform.demo.storage.stored_object import StoredObject
from tidegate.platform.lake.lake import Lake
from tidegate.platform.maintenance.file_source import MIN_FILES, file_source
from tidegate.platform.maintenance.vacuum import vacuum

#: Files that runs left behind before the inventory, and one that a run writes after it.
LEFT, YOUNG = 40, "part-young.parquet"


@dataclass(frozen=True)
class Deleted:
    """What maintenance did.

    Attributes:
        source: where it looked for the files, in words.
        files: number of files that it deleted.
        bytes: their size.
        remaining: names of those that are still there.
    """

    source: str
    files: int
    bytes: int
    remaining: list[str]


def leave_files(lake: Lake, s3: Any, location: str, to: str) -> None:
    """Put files that are in no commit into the folder of a table, and then an inventory of the lake's bucket.

    Args:
        s3: boto3's client.
        location: `s3a://` URI of the table.
        to: bucket of the inventories.
    """
    bucket, folder = S3Address.parse_s3a(location)
    for number in range(LEFT):
        s3.put_object(
            Bucket=bucket, Key=f"{folder}/part-{number:03d}-of-a-run-that-died.parquet", Body=left_body(number)
        )
    keeps = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"
    lake.delta.session.sql(f"ALTER TABLE {delta_table(location)} SET TBLPROPERTIES ({keeps})")
    objects = tuple(
        StoredObject(item.key, item.size, "STANDARD", 0, None) for item in lake.store.objects.list_under(bucket, "")
    )
    deliver(s3, to, CompanyBucket(bucket, True, None, datetime.now(UTC), objects), 0, destination=LAKE)
    s3.put_object(Bucket=bucket, Key=f"{folder}/{YOUNG}", Body=left_body(0))


def left_body(number: int) -> bytes:
    """Return the bytes of a file that a run left behind."""
    return b"x" * (1_000 + number)


def delete_left_over(lake: Lake, location: str) -> Deleted:
    """Delete what no version of a table needs, as maintenance does it for large tables."""
    source = file_source(lake, location, MIN_FILES, time.time())
    freed = vacuum(lake, location, timedelta(), inventory=source.inventory)
    bucket, folder = S3Address.parse_s3a(location)
    names = (item.key.rpartition("/")[2] for item in lake.store.objects.list_under(bucket, f"{folder}/"))
    remaining = sorted(name for name in names if name.endswith("that-died.parquet") or name == YOUNG)
    return Deleted(source.note, freed.files, freed.size, remaining)
