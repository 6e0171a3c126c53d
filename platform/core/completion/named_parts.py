"""The parts that a manifest names: of S3 Inventory, of Redshift's UNLOAD, and of programs that write like them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.foreign_json import foreign_json, size_within
from tidegate.platform.core.keys.object_key import decode_possible_key
from tidegate.platform.core.keys.s3_address import S3Address

#: Bytes of the largest manifest that is read.
MAX_MANIFEST_BYTES = 16 << 20
#: Values of one: a part has about eight, and a dataset 10,000 parts.
_MAX_VALUES = 1 << 18
_MD5 = re.compile(r"[0-9a-fA-F]{32}")


@dataclass(frozen=True)
class NamedPart:
    """A part as a manifest names it.

    Attributes:
        size: bytes. None if the manifest does not say.
        md5: of the bytes, in lower-case hex. None if the manifest does not say.
    """

    key: str
    size: int | None = None
    md5: str | None = None


def named_parts(body: bytes, bucket: str, prefix: str) -> tuple[NamedPart, ...]:
    """Read the parts that a manifest names, without repetitions.

    Two forms are known: `files` with `key`, `size` and `MD5checksum`, as S3 Inventory writes it, and `entries` with
    `url`, as Redshift writes it.

    Args:
        body: content of the manifest.
        bucket: bucket of the table.
        prefix: key prefix of the table.

    Raises:
        BadValue: it is not such a manifest, or names an object outside of the table's prefix.
    """
    try:
        manifest = foreign_json(body, max_values=_MAX_VALUES)
    except ValueError as error:
        raise BadValue(f"it is not a manifest: it {error}") from None
    if not isinstance(manifest, dict):
        raise BadValue("it is not a manifest: it is not a JSON object")
    if isinstance(manifest.get("files"), list):
        parts = [_file(file, _bucket_of(manifest, bucket)) for file in manifest["files"]]
    elif isinstance(manifest.get("entries"), list):
        parts = [_entry(entry) for entry in manifest["entries"]]
    else:
        raise BadValue("it is not a manifest: it has neither `files` nor `entries`")
    _require_inside(parts, bucket, prefix)
    found = {part.key: part for _, part in parts}
    if not found:
        raise BadValue("it names no parts")
    return tuple(found.values())


def _require_inside(parts: Iterable[tuple[str, NamedPart]], bucket: str, prefix: str) -> None:
    outside = [(home, part) for home, part in parts if home != bucket or not part.key.startswith(prefix)]
    if outside:
        home, part = outside[0]
        others = f" and {len(outside) - 1} more" if len(outside) > 1 else ""
        raise BadValue(
            f"it names {S3Address(home, part.key)}{others}, which is outside of {S3Address(bucket, prefix)}, the "
            "table's prefix. Write the parts below it, or give the table the prefix that holds them"
        )


def _bucket_of(manifest: Mapping[str, Any], bucket: str) -> str:
    """Return the bucket of the files. S3 Inventory names it; other programs may leave it out."""
    named = manifest.get("destinationBucket")
    # It is an ARN: arn:aws:s3:::bucket, where China and GovCloud have another word than aws.
    return named.rpartition(":")[2] if isinstance(named, str) else bucket


def _file(file: Any, bucket: str) -> tuple[str, NamedPart]:
    if not isinstance(file, dict) or not isinstance(file.get("key"), str):
        raise BadValue("it is not a manifest: an entry of `files` has no `key`")
    md5 = file.get("MD5checksum")
    known = md5.lower() if isinstance(md5, str) and _MD5.fullmatch(md5) else None
    return bucket, NamedPart(decode_possible_key(file["key"]), size_within(file.get("size")), known)


def _entry(entry: Any) -> tuple[str, NamedPart]:
    if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
        raise BadValue("it is not a manifest: an entry of `entries` has no `url`")
    try:
        address = S3Address.parse(entry["url"])
    except ValueError as error:
        raise BadValue(f"it names a part that is not in S3: {error}") from None
    meta = entry.get("meta")
    size = size_within(meta.get("content_length")) if isinstance(meta, dict) else None
    return address.bucket, NamedPart(decode_possible_key(address.key), size)
