"""Inventories as S3 delivers them: a file of lines, then `manifest.json`, and `manifest.checksum` last."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.platform.demo.storage.company import CompanyBucket

_FIELDS: tuple[Any, ...] = (
    ("bucket", pa.string()),
    ("key", pa.string()),
    ("size", pa.int64()),
    ("last_modified_date", pa.timestamp("ms", "UTC")),
    ("e_tag", pa.string()),
    ("storage_class", pa.string()),
)
_SCHEMA = (
    "message s3.inventory { required binary bucket (STRING); required binary key (STRING); optional int64 size; "
    "optional int64 last_modified_date (TIMESTAMP(MILLIS,true)); optional binary e_tag (STRING); "
    "optional binary storage_class (STRING); }"
)


def deliver(s3: Any, to: str, bucket: CompanyBucket, day: int, *, broken: bool = False) -> None:
    """Put the inventory of a bucket and day.

    Args:
        s3: boto3's client.
        to: bucket of the inventories.
        bucket: the bucket that was looked at.
        day: the day.
        broken: whether the file is another one than the manifest says.
    """
    for key, body in delivery(bucket, day, broken=broken):
        s3.put_object(Bucket=to, Key=key, Body=body)


def delivery(bucket: CompanyBucket, day: int, *, broken: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yields the keys and bodies of a delivery, in the order in which they are put."""
    prefix = f"inventory/{bucket.name}/{bucket.configuration}/"
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
            "fileSchema": _SCHEMA,
            "files": [{"key": file, "size": len(body), "MD5checksum": hashlib.md5(body).hexdigest()}],
        }
    ).encode()
    folder = f"{prefix}{bucket.at(day):%Y-%m-%dT%H-%MZ}/"
    yield f"{folder}manifest.json", manifest
    yield f"{folder}manifest.checksum", hashlib.md5(manifest).hexdigest().encode() + b"\n"


def _file(bucket: CompanyBucket, day: int) -> bytes:
    rows = [
        {
            "bucket": bucket.name,
            "key": one.key,
            "size": one.size,
            "last_modified_date": bucket.at(one.created) - timedelta(hours=1),
            "e_tag": hashlib.md5(one.key.encode()).hexdigest(),
            "storage_class": one.storage_class,
        }
        for one in bucket.on(day)
    ]
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(_FIELDS)), target)
    return target.getvalue()
