"""When two sights of an object are of the same bytes."""

from __future__ import annotations

from typing import Protocol


class Bytes(Protocol):
    """What S3 said of an object's bytes, or the ledger."""

    @property
    def etag(self) -> str | None:
        """The etag; None where nothing is known of the bytes."""

    @property
    def size(self) -> int | None:
        """Bytes."""

    @property
    def checksum(self) -> str | None:
        """Algorithm and value, as in ``CRC64NVME:nuCUKjhVRg8=``, where S3 has one."""


def same_bytes(one: Bytes, other: Bytes) -> bool:
    """Whether the bytes are known to be the same.

    An etag is a digest of the bytes only where these were put at once and no key of KMS encrypts them: else each copy
    of the same bytes has another one. So where the etags differ, an equal size and an equal checksum tell. Checksums
    that differ tell nothing more: that of an object in parts may depend on the parts.
    """
    if one.etag is None or other.etag is None:
        return False
    if one.etag == other.etag:
        return True
    return one.size is not None and one.size == other.size and bool(one.checksum) and one.checksum == other.checksum
