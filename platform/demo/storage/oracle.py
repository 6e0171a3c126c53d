"""What the table of inventories and its reports must contain, object by object. It knows nothing of Tidegate."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.demo.storage.planted_buckets import STEADY_BYTES
from tidegate.platform.demo.storage.stored_object import StoredObject

GIB, _KIB = 1 << 30, 1 << 10
#: Dollars for a gigabyte and month. They are made for the demo; the prices of S3 are in its price list.
PRICES = {"STANDARD": 0.023, "STANDARD_IA": 0.0125, "DEEP_ARCHIVE": 0.00099}
#: Dollars for the request that moves an object to STANDARD_IA.
TRANSITION = 0.00001
#: Days from which on objects are of a class of age, and how many days it has.
_AGES = (0, 30, 90, 365)
_LENGTHS = {0: 30, 30: 60, 90: 275}
#: Months for which advice must be worth its cost.
MONTHS = 12


@dataclass(frozen=True)
class ExpectedTable:
    """What the table must contain after a day.

    Attributes:
        rows: rows by bucket, with delete markers.
        objects: versions of objects by bucket.
        size: bytes by bucket.
        dollars: dollars a month.
        late: buckets whose newest inventory is older than it should be.
    """

    rows: Mapping[str, int]
    objects: Mapping[str, int]
    size: Mapping[str, int]
    dollars: float
    late: frozenset[str]


def expected_table(buckets: Sequence[CompanyBucket], day: int) -> ExpectedTable:
    """Compute what the table must contain after the inventories of a day."""
    newest = {bucket.name: bucket.newest_inventory_day(day) for bucket in buckets}
    found = {bucket.name: bucket.objects_on(newest[bucket.name]) for bucket in buckets}
    return ExpectedTable(
        rows={name: len(rows) for name, rows in found.items()},
        objects={name: sum(not row.is_marker for row in rows) for name, rows in found.items()},
        size={name: sum(row.size for row in rows) for name, rows in found.items()},
        dollars=sum(dollars(row) for rows in found.values() for row in rows if not row.is_marker),
        late=frozenset(bucket.name for bucket in buckets if bucket.daily and day - newest[bucket.name] >= 3),
    )


def dollars(item: StoredObject) -> float:
    """Return what an object costs a month. S3 bills small and archived objects as larger than they are."""
    if item.storage_class == "STANDARD_IA":
        return max(item.size, 128 * _KIB) / GIB * PRICES["STANDARD_IA"]
    if item.storage_class == "DEEP_ARCHIVE":
        return (item.size + 32 * _KIB) / GIB * PRICES["DEEP_ARCHIVE"] + 8 * _KIB / GIB * PRICES["STANDARD"]
    return item.size / GIB * PRICES["STANDARD"]


def advice(buckets: Sequence[CompanyBucket], day: int) -> list[float]:
    """Return what each lifecycle rule to STANDARD_IA saves that saves more than it costs, the largest saving first.

    A rule names a folder, a least age and a least or largest size, and moves all such objects. Objects of 30 days stay
    if those of a quarter of a year are at least half as many bytes for each day.
    """
    alike: dict[tuple[str, str, bool], dict[int, list[StoredObject]]] = defaultdict(
        lambda: {0: [], 30: [], 90: [], 365: []}
    )
    for bucket in buckets:
        newest = bucket.newest_inventory_day(day)
        for item in bucket.objects_on(newest):
            age = (bucket.begin_time(newest).date() - bucket.put(item).date()).days
            least = max(days for days in _AGES if days <= age)
            if item.is_latest and not item.is_marker:
                alike[bucket.name, item.key.split("/")[0], item.size < 128 * _KIB][least].append(item)
    saved = []
    for ages in alike.values():
        a_day = {days: sum(age.size for age in ages[days]) / length for days, length in _LENGTHS.items()}
        bounds = (30, 90, 365) if a_day[90] >= a_day[30] / 2 else (365,)
        rules = ([age for days in ages if days >= bound for age in ages[days]] for bound in bounds)
        saved.append(max(sum(map(_month_saving, objects)) for objects in rules))
    return sorted((saving for saving in saved if saving > 0), reverse=True)


def _month_saving(item: StoredObject) -> float:
    if item.storage_class != "STANDARD":
        return 0.0
    moved = StoredObject(item.key, item.size, "STANDARD_IA", item.created, item.deleted)
    return MONTHS * (dollars(item) - dollars(moved)) - TRANSITION


def audits(buckets: Sequence[CompanyBucket], day: int, orders: CompanyBucket, loaded: Sequence[str]) -> dict[str, int]:
    """Return how many objects each audit must find.

    Args:
        buckets: all buckets.
        orders: the bucket with the table of orders.
        loaded: keys of the objects that this table knows.
    """
    found: dict[str, int] = defaultdict(int)
    for bucket in buckets:
        newest = bucket.newest_inventory_day(day)
        rows = bucket.objects_on(newest)
        with_version = {row.key for row in rows if not row.is_marker}
        for row in rows:
            old = bucket.put(row) < bucket.begin_time(newest) - timedelta(days=1)
            in_orders = bucket.name == orders.name and row.key.startswith("orders/")
            found["unencrypted"] += not row.encrypted
            found["replication_failed"] += row.replication == "FAILED"
            found["replication_pending"] += row.replication == "PENDING" and old
            found["noncurrent"] += not row.is_latest
            found["lone_delete_markers"] += row.is_marker and row.key not in with_version
            found["orphaned"] += in_orders and old and row.key not in loaded
            found["outside"] += row.is_latest and not row.is_marker and not in_orders
    return dict(found)


def manifest(bucket: CompanyBucket, day: int) -> bytes:
    """Return the manifest of S3 Batch Operations with the objects of a bucket that are not encrypted."""
    keys = sorted(item.key for item in bucket.objects_on(day) if not item.encrypted)
    return "".join(f"{bucket.name},{quote(key)}\n" for key in keys).encode()


def md5(body: bytes) -> str:
    """Return the MD5 of a body, which is the ETag of an object that S3 stored in one part."""
    return hashlib.md5(body).hexdigest()


def steady_bucket_bytes(bucket: CompanyBucket, day: int, ahead: int) -> int:
    """Return the bytes that the steady bucket has so many days after a day, if it continues as before."""
    return sum(item.size for item in bucket.objects_on(day)) + ahead * STEADY_BYTES


def is_daily_inventory(configuration: Mapping[str, Any], to: str) -> bool:
    """Return whether S3 makes an inventory of all versions each day, in Parquet, with the fields that the reports read.

    Args:
        configuration: the inventory configuration of a bucket.
        to: bucket of the inventories.
    """
    destination = configuration["Destination"]["S3BucketDestination"]
    return (
        configuration["IsEnabled"] is True
        and configuration["Schedule"] == {"Frequency": "Daily"}
        and configuration["IncludedObjectVersions"] == "All"
        and {"Size", "LastModifiedDate", "StorageClass", "EncryptionStatus", "ReplicationStatus"}
        <= set(configuration["OptionalFields"])
        and (destination["Bucket"], destination["Format"], destination["Prefix"])
        == (f"arn:aws:s3:::{to}", "Parquet", "inventory")
    )


def may_deliver(policy: str, to: str) -> bool:
    """Return whether a bucket's policy lets S3 write inventories into it."""
    return any(
        (statement["Effect"], statement["Principal"], statement["Action"])
        == ("Allow", {"Service": "s3.amazonaws.com"}, "s3:PutObject")
        and statement["Resource"] == f"arn:aws:s3:::{to}/inventory/*"
        for statement in json.loads(policy or "{}").get("Statement", ())
    )
