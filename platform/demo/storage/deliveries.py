"""Inventories as S3 delivers them: a file of lines, then `manifest.json`, and `manifest.checksum` last."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.platform.demo.storage.company import CompanyBucket
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


def deliver(
    s3: Any, to: str, bucket: CompanyBucket, day: int, *, broken: bool = False, destination: str = COMPANY
) -> None:
    """Put the inventory of a bucket and day.

    Args:
        s3: boto3's client.
        to: bucket of the inventories.
        bucket: the bucket that was looked at.
        day: the day.
        broken: whether the file is another one than the manifest says.
        destination: prefix of the inventories.
    """
    for key, body in delivery(bucket, day, broken=broken, destination=destination):
        s3.put_object(Bucket=to, Key=key, Body=body)


def file_columns() -> list[str]:
    """Returns the columns that the file of an inventory has."""
    return [name for name, _ in _FIELDS]


def _file_schema() -> str:
    """Returns the columns as the manifest of a Parquet inventory has them."""
    columns = (
        f"{'required' if name in _REQUIRED else 'optional'} {_IN_MANIFEST[kind].format(name)};"
        for name, kind in _FIELDS
    )
    return f"message s3.inventory {{ {' '.join(columns)} }}"


def delivery(
    bucket: CompanyBucket, day: int, *, broken: bool = False, destination: str = COMPANY
) -> Iterator[tuple[str, bytes]]:
    """Yields the keys and bodies of a delivery, in the order in which they are put."""
    prefix = f"{destination}{bucket.name}/{bucket.configuration}/"
    body = _file(bucket, day)
    file = f"{prefix}data/{hashlib.sha256(f'{prefix}{day}'.encode()).hexdigest()[:32]}.parquet"
    yield file, body[:-9] if broken else body
    manifest = json.dumps(
        {
            "sourceBucket": bucket.name,
            "destinationBucket": "arn:aws:s3:::tidegate-landing",
            "version": "2016-11-30",
            "creationTimestamp": str(int(bucket.at(day).timestamp() * 1_000)),
            "fileFormat": "Parquet",
            "fileSchema": _file_schema(),
            "files": [{"key": file, "size": len(body), "MD5checksum": hashlib.md5(body).hexdigest()}],
        }
    ).encode()
    folder = f"{prefix}{bucket.at(day):%Y-%m-%dT%H-%MZ}/"
    yield f"{folder}manifest.json", manifest
    yield f"{folder}manifest.checksum", hashlib.md5(manifest).hexdigest().encode() + b"\n"


def _file(bucket: CompanyBucket, day: int) -> bytes:
    has_versions = bucket.has_versions
    rows = [
        {
            "bucket": bucket.name,
            "key": one.key,
            # An object that is older than the versions of its bucket has the ID "null".
            "version_id": (one.version or "null") if has_versions else None,
            "is_latest": one.is_latest,
            "is_delete_marker": one.is_marker,
            "last_modified_date": bucket.put(one),
            **({} if one.is_marker else _stored(one)),
        }
        for one in bucket.on(day)
    ]
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(_FIELDS)), target)
    return target.getvalue()


def _stored(one: StoredObject) -> dict[str, Any]:
    """Returns what an inventory lists of a version and not of a delete marker."""
    return {
        "size": one.size,
        "e_tag": hashlib.md5(one.key.encode()).hexdigest(),
        "storage_class": one.storage_class,
        "replication_status": one.replication,
        "encryption_status": "SSE-S3" if one.encrypted else "NOT-SSE",
    }
