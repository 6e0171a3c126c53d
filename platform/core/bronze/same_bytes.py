"""Compares two states of an object: whether they have the same bytes."""

from __future__ import annotations

from typing import Protocol


class Bytes(Protocol):
    """The identity of an object's bytes, from S3 or from the ledger."""

    @property
    def etag(self) -> str | None:
        """The etag. None if nothing is known about the bytes."""

    @property
    def size(self) -> int | None:
        """Number of bytes."""

    @property
    def checksum(self) -> str | None:
        """Algorithm and value, as in `CRC64NVME:nuCUKjhVRg8=`. None if S3 has none."""


def same_bytes(one: Bytes, other: Bytes) -> bool:
    """Whether the bytes are known to be the same.

    An etag is a digest of the bytes only if the object was put in one part and KMS does not encrypt it. Otherwise each
    copy of the same bytes has another etag. So if the etags differ, the bytes are the same if size and checksum are
    equal. Different checksums prove nothing: the checksum of a multipart object can depend on its parts.
    """
    if one.etag is None or other.etag is None:
        return False
    if one.etag == other.etag:
        return True
    return one.size is not None and one.size == other.size and bool(one.checksum) and one.checksum == other.checksum
