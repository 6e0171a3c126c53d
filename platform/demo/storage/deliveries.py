"""Inventories as S3 delivers them: a file of lines, then `manifest.json`, and `manifest.checksum` last.

On the last day some deliveries have faults. The company has files of orders in S3, too.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.demo.storage.planted_buckets import loaded_orders, lost_orders, order_body, young_order
from tidegate.platform.demo.storage.stored_object import StoredObject

_TEXT, _FLAG, _NUMBER, _TIME = pa.string(), pa.bool_(), pa.int64(), pa.timestamp("ms", "UTC")
_FIELDS: tuple[Any, ...] = (
    ("bucket", _TEXT),
    ("key", _TEXT),
    ("version_id", _TEXT),
    ("is_latest", _FLAG),
    ("is_delete_marker", _FLAG),
    ("size", _NUMBER),
    ("last_modified_date", _TIME),
    ("e_tag", _TEXT),
    ("storage_class", _TEXT),
    ("replication_status", _TEXT),
    ("encryption_status", _TEXT),
)
_IN_MANIFEST = {
    _TEXT: "binary {} (STRING)",
    _FLAG: "boolean {}",
    _NUMBER: "int64 {}",
    _TIME: "int64 {} (TIMESTAMP(MILLIS,true))",
}
_REQUIRED = ("bucket", "key")

#: Where the inventories of the company's buckets are, and where those of the lake's own bucket.
COMPANY, LAKE = "inventory/", "lake-inventory/"

#: Bucket of the inventories.
TO = "tidegate-landing"
_SIGNAL = "manifest.checksum"
#: Buckets with a weekly inventory that get one on the last day, too. Its file is not the manifest's, or is missing.
_OTHER, _MISSING = 1, 2


def deliver(
    s3: Any, to: str, bucket: CompanyBucket, day: int, *, broken: bool = False, destination: str = COMPANY
) -> None:
    """Put the inventory of a bucket and day.

    Args:
        s3: boto3's client.
        to: bucket of the inventories.
        bucket: the bucket that was looked at.
        broken: whether the file is another one than the manifest says.
        destination: prefix of the inventories.
    """
    for key, body in delivery(bucket, day, broken=broken, destination=destination):
        s3.put_object(Bucket=to, Key=key, Body=body)


def file_columns() -> list[str]:
    """Return the columns that the file of an inventory has."""
    return [name for name, _ in _FIELDS]


def _file_schema() -> str:
    """Return the columns as the manifest of a Parquet inventory has them."""
    columns = (
        f"{'required' if name in _REQUIRED else 'optional'} {_IN_MANIFEST[kind].format(name)};"
        for name, kind in _FIELDS
    )
    return f"message s3.inventory {{ {' '.join(columns)} }}"


def delivery(
    bucket: CompanyBucket, day: int, *, broken: bool = False, destination: str = COMPANY
) -> Iterator[tuple[str, bytes]]:
    """Yield the keys and bodies of a delivery, in the order in which they are put."""
    prefix = f"{destination}{bucket.name}/{bucket.configuration}/"
    body = _file(bucket, day)
    file = f"{prefix}data/{hashlib.sha256(f'{prefix}{day}'.encode()).hexdigest()[:32]}.parquet"
    yield file, body[:-9] if broken else body
    manifest = json.dumps(
        {
            "sourceBucket": bucket.name,
            "destinationBucket": "arn:aws:s3:::tidegate-landing",
            "version": "2016-11-30",
            "creationTimestamp": str(int(bucket.begin_time(day).timestamp() * 1_000)),
            "fileFormat": "Parquet",
            "fileSchema": _file_schema(),
            "files": [{"key": file, "size": len(body), "MD5checksum": hashlib.md5(body).hexdigest()}],
        }
    ).encode()
    folder = f"{prefix}{bucket.begin_time(day):%Y-%m-%dT%H-%MZ}/"
    yield f"{folder}manifest.json", manifest
    yield f"{folder}manifest.checksum", hashlib.md5(manifest).hexdigest().encode() + b"\n"


def _file(bucket: CompanyBucket, day: int) -> bytes:
    has_versions = bucket.has_versions
    rows = [
        {
            "bucket": bucket.name,
            "key": item.key,
            # An object that is older than the versions of its bucket has the ID "null".
            "version_id": (item.version or "null") if has_versions else None,
            "is_latest": item.is_latest,
            "is_delete_marker": item.is_marker,
            "last_modified_date": bucket.put(item),
            **({} if item.is_marker else _version_fields(item)),
        }
        for item in bucket.objects_on(day)
    ]
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(_FIELDS)), target)
    return target.getvalue()


def _version_fields(item: StoredObject) -> dict[str, Any]:
    """Return what an inventory lists of a version and not of a delete marker."""
    return {
        "size": item.size,
        "e_tag": hashlib.md5(item.key.encode()).hexdigest(),
        "storage_class": item.storage_class,
        "replication_status": item.replication,
        "encryption_status": "SSE-S3" if item.encrypted else "NOT-SSE",
    }


def create_bucket(s3: Any, bucket: CompanyBucket) -> None:
    """Create a bucket. It stays empty: what it has is known from its inventories."""
    s3.create_bucket(Bucket=bucket.name)
    if bucket.aborts_uploads:
        abort = {"DaysAfterInitiation": 7}
        rule = {"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": ""}, "AbortIncompleteMultipartUpload": abort}
        s3.put_bucket_lifecycle_configuration(Bucket=bucket.name, LifecycleConfiguration={"Rules": [rule]})


def notify_of_signals_only(s3: Any) -> None:
    """Let S3 send the events of `manifest.checksum` only, as the guide of inventories says."""
    found = s3.get_bucket_notification_configuration(Bucket=TO)
    queues = [
        {**queue, "Filter": {"Key": {"FilterRules": [{"Name": "suffix", "Value": _SIGNAL}]}}}
        for queue in found["QueueConfigurations"]
    ]
    s3.put_bucket_notification_configuration(Bucket=TO, NotificationConfiguration={"QueueConfigurations": queues})


def put_orders(s3: Any, bucket: str) -> None:
    """Put files of orders. While the bucket has no notifications, events are lost."""
    for key in loaded_orders():
        s3.put_object(Bucket=bucket, Key=key, Body=order_body(key))
    found = s3.get_bucket_notification_configuration(Bucket=bucket)
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    for key in (*lost_orders(), young_order()):
        s3.put_object(Bucket=bucket, Key=key, Body=order_body(key))
    again = {"QueueConfigurations": found["QueueConfigurations"]}
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=again)


def deliver_last_day(s3: Any, buckets: Sequence[CompanyBucket], day: int) -> None:
    """Deliver a day on which a file is another one, a file is missing, and an event comes twice."""
    for bucket in buckets:
        if bucket.delivers(day):
            deliver(s3, TO, bucket, day)
    deliver(s3, TO, buckets[_OTHER], day, broken=True)
    for key, body in list(delivery(buckets[_MISSING], day))[1:]:
        s3.put_object(Bucket=TO, Key=key, Body=body)
    *_, (checksum, body) = delivery(buckets[0], day)
    s3.put_object(Bucket=TO, Key=checksum, Body=body)  # its event comes a second time
