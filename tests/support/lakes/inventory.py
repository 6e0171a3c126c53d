"""S3 Inventories as AWS documents them: unsorted files of three formats, symlink.txt, a manifest, and its checksum."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

FORMATS: tuple[Literal["CSV", "ORC", "Parquet"], ...] = ("CSV", "ORC", "Parquet")
#: Name in a CSV's fileSchema, name in that of the other formats, and type there.
COLUMNS = {
    "Bucket": ("bucket", pa.string()),
    "Key": ("key", pa.string()),
    "VersionId": ("version_id", pa.string()),
    "IsLatest": ("is_latest", pa.bool_()),
    "IsDeleteMarker": ("is_delete_marker", pa.bool_()),
    "Size": ("size", pa.int64()),
    "LastModifiedDate": ("last_modified_date", pa.timestamp("ms", "UTC")),
    "ETag": ("e_tag", pa.string()),
    "StorageClass": ("storage_class", pa.string()),
    "IsMultipartUploaded": ("is_multipart_uploaded", pa.bool_()),
    "ReplicationStatus": ("replication_status", pa.string()),
    "EncryptionStatus": ("encryption_status", pa.string()),
    "ObjectLockRetainUntilDate": ("object_lock_retain_until_date", pa.timestamp("ms", "UTC")),
    "ObjectLockMode": ("object_lock_mode", pa.string()),
    "ObjectLockLegalHoldStatus": ("object_lock_legal_hold_status", pa.string()),
    "IntelligentTieringAccessTier": ("intelligent_tiering_access_tier", pa.string()),
    "BucketKeyStatus": ("bucket_key_status", pa.string()),
    "ChecksumAlgorithm": ("checksum_algorithm", pa.string()),
    "ObjectAccessControlList": ("object_access_control_list", pa.string()),
    "ObjectOwner": ("object_owner", pa.string()),
    "LifecycleExpirationDate": ("lifecycle_expiration_date", pa.timestamp("ms", "UTC")),
    # Fields that AWS added later than the table of inventories knows.
    "IntelligentTieringReferenceDate": ("intelligent_tiering_reference_date", pa.timestamp("ms", "UTC")),
    "ObjectLockEventHoldStatus": ("object_lock_event_hold_status", pa.string()),
}
#: What an inventory has unless its configuration names more fields.
USUAL = ("Bucket", "Key", "VersionId", "IsLatest", "IsDeleteMarker", "Size", "LastModifiedDate", "ETag")
_OF_VERSIONS = ("VersionId", "IsLatest", "IsDeleteMarker")


@dataclass(frozen=True)
class Line:
    """One version of an object; a delete marker has neither size nor etag. `more` has further fields by their names.

    `null` is the version that an object has from before its bucket had versions.
    """

    key: str
    size: int | None
    etag: str | None
    latest: bool = True
    marker: bool = False
    null: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)

    def cells(self, source: str) -> dict[str, Any]:
        return {
            "Bucket": source,
            "Key": self.key,
            "VersionId": "" if self.null else uuid.uuid4().hex,
            "IsLatest": self.latest,
            "IsDeleteMarker": self.marker,
            "Size": self.size,
            "LastModifiedDate": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            "ETag": self.etag,
            **self.more,
        }


@dataclass(frozen=True)
class Delivery:
    """The objects of one delivery.

    Attributes:
        objects: bodies by key, in the order of their delivery: the checksum comes last.
        manifest: key of manifest.json.
        checksum: key of manifest.checksum.
        data: keys of the files with the lines.
    """

    objects: dict[str, bytes]
    manifest: str
    checksum: str
    data: tuple[str, ...]

    def put(self, s3: Any, bucket: str) -> None:
        for key, body in self.objects.items():
            s3.put_object(Bucket=bucket, Key=key, Body=body)


def deliver(
    lines: Sequence[Line],
    *,
    prefix: str,
    source: str,
    created: float,
    format: Literal["CSV", "ORC", "Parquet"] = "CSV",
    versions: bool = True,
    without: Sequence[str] = (),
    fields: Sequence[str] = (),
    files: int = 2,
) -> Delivery:
    """Make a delivery.

    Args:
        lines: versions of objects, in any order.
        prefix: prefix of the destination: `<prefix>/<source bucket>/<configuration>/`.
        source: source bucket.
        created: epoch seconds.
        format: format of the files.
        versions: whether it is an inventory of all versions.
        without: fields that its configuration leaves out.
        fields: fields in addition to the usual ones.
        files: number of files for the lines.
    """
    left_out = {*without, *(() if versions else _OF_VERSIONS)}
    columns = [name for name in COLUMNS if name in {*USUAL, *fields} - left_out]
    shuffled = [line for line in lines if versions or (line.latest and not line.marker)]
    random.Random(len(shuffled)).shuffle(shuffled)
    bodies = [_body([line.cells(source) for line in shuffled[part::files]], columns, format) for part in range(files)]
    return delivery_of(bodies, columns, prefix=prefix, source=source, created=created, format=format)


def delivery_of(
    bodies: Sequence[bytes], columns: Sequence[str], *, prefix: str, source: str, created: float, format: str
) -> Delivery:
    """Make a delivery of files.

    Args:
        bodies: the files, in the format.
        columns: their columns, by the names of CSV.
        prefix: as in `deliver`, as are the others.
    """
    objects: dict[str, bytes] = {}
    data_files = []
    for body in bodies:
        key = f"{prefix}data/{uuid.uuid4()}{'.csv.gz' if format == 'CSV' else f'.{format.lower()}'}"
        objects[key] = body
        data_files.append({"key": key, "size": len(body), "MD5checksum": hashlib.md5(body).hexdigest()})
    data = tuple(objects)
    manifest = {
        "sourceBucket": source,
        "destinationBucket": "arn:aws:s3:::somewhere",
        "version": "2016-11-30",
        "creationTimestamp": str(int(created * 1000)),
        "fileFormat": format,
        "fileSchema": _schema(columns, format),
        "files": data_files,
    }
    text = json.dumps(manifest, indent=2).encode()
    began = datetime.fromtimestamp(created, UTC)
    links = "".join(f"s3://somewhere/{key}\n" for key in data)
    objects[f"{prefix}hive/dt={began:%Y-%m-%d-%H-%M}/symlink.txt"] = links.encode()
    folder = f"{prefix}{began:%Y-%m-%dT%H-%MZ}/"
    objects[f"{folder}manifest.json"] = text
    objects[f"{folder}manifest.checksum"] = hashlib.md5(text).hexdigest().encode() + b"\n"
    return Delivery(objects, f"{folder}manifest.json", f"{folder}manifest.checksum", data)


def _body(rows: list[dict[str, Any]], columns: list[str], format: str) -> bytes:
    if format == "CSV":
        return gzip.compress("".join(f"{','.join(_cell(n, row.get(n)) for n in columns)}\n" for row in rows).encode())
    schema = pa.schema([COLUMNS[name] for name in columns])
    table = pa.Table.from_pylist([{COLUMNS[name][0]: row.get(name) for name in columns} for row in rows], schema)
    target = io.BytesIO()
    if format == "ORC":
        # S3's own files have the type that `_schema` names: a time of day without a zone, which is UTC.
        plain = [pa.field(each.name, _plain(each.type)) for each in schema]
        orc.write_table(table.cast(pa.schema(plain)), target)
    else:
        pq.write_table(table, target)
    return target.getvalue()


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) else kind


def _cell(name: str, value: Any) -> str:
    if name == "Key":
        return f'"{quote_plus(value, safe="/")}"'
    if isinstance(value, bool):
        return f'"{str(value).lower()}"'
    if isinstance(value, datetime):
        return f'"{value:%Y-%m-%dT%H:%M:%S.000Z}"'
    return f'"{"" if value is None else value}"'


def _schema(columns: Sequence[str], format: str) -> str:
    if format == "CSV":
        return ", ".join(columns)
    if format == "ORC":
        kinds = {"bool": "boolean", "int64": "bigint", "timestamp[ms, tz=UTC]": "timestamp"}
        fields = (f"{COLUMNS[name][0]}:{kinds.get(str(COLUMNS[name][1]), 'string')}" for name in columns)
        return f"struct<{','.join(fields)}>"
    kinds = {"bool": "boolean {}", "int64": "int64 {}", "timestamp[ms, tz=UTC]": "int64 {} (TIMESTAMP(MILLIS,true))"}
    fields = (
        f"{'required' if name in ('Bucket', 'Key') else 'optional'} "
        f"{kinds.get(str(COLUMNS[name][1]), 'binary {} (STRING)').format(COLUMNS[name][0])};"
        for name in columns
    )
    return f"message s3.inventory {{ {' '.join(fields)} }}"
