"""Reads S3's answer about an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.platform.core.bronze.object_state import S3Found

#: S3's checksums of an object, the best first: checksums of two answers can be compared only if they are of one kind.
_CHECKSUMS = (
    "SHA512",
    "SHA256",
    "XXHASH128",
    "CRC64NVME",
    "XXHASH3",
    "XXHASH64",
    "SHA1",
    "MD5",
    "CRC32C",
    "CRC32",
)


def parse_s3_found(answer: Mapping[str, Any], size: int) -> S3Found:
    """Return the state of an object of that size, from S3's answer to a HEAD or a GET."""
    version = answer.get("VersionId")
    modified = int(answer["LastModified"].timestamp() * 1000)
    etag = answer["ETag"].strip('"')
    return S3Found(
        etag,
        size,
        modified,
        None if version == "null" else version,
        _checksum(answer),
        # The etag of an upload in parts depends on the size of its parts.
        digested="-" not in etag and not answer.get("ServerSideEncryption", "").startswith("aws:kms"),
    )


def _checksum(answer: Mapping[str, Any]) -> str | None:
    for algorithm in _CHECKSUMS:
        value = answer.get(f"Checksum{algorithm}")
        # S3 gives the checksum of one part for the range of that part. It is the object's only if there is one part.
        if value and (answer.get("ChecksumType") != "COMPOSITE" or "-" in value):
            return f"{algorithm}:{value}"
    return None
