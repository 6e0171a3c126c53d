"""The present state of an object, from S3's answer to a HEAD request, and whether two states have the same bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class S3Found:
    """The object exists.

    Attributes:
        size: bytes.
        modification_time: epoch milliseconds.
        checksum: algorithm and value. None if S3 has none.
        digested: whether the etag can be a digest of the bytes. It is not one where KMS encrypts the object.
        footer: a Parquet object's last bytes with the whole footer, if they were read with the state.
        body: all bytes of a small object, if they were read with the state.
    """

    etag: str
    size: int
    modification_time: int
    version_id: str | None = None
    checksum: str | None = None
    digested: bool = True
    footer: bytes | None = field(default=None, repr=False, compare=False)
    body: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def needs_checksum(self) -> bool:
        """Whether nothing that is known of the object identifies its bytes."""
        return not self.digested and self.checksum is None


@dataclass(frozen=True)
class S3Gone:
    """404: the object does not exist, but its bucket does."""


@dataclass(frozen=True)
class S3Forbidden:
    """S3 denied access to the object, or refuses every request for it.

    Attributes:
        of_the_object: whether the answer cannot be another object's: it is not a 403.
    """

    detail: str
    of_the_object: bool = False

    @property
    def reason(self) -> str:
        """The reason for the ledger."""
        return f"{'S3 refuses it' if self.of_the_object else 'access denied'}: {self.detail}"


@dataclass(frozen=True)
class S3Unavailable:
    """5xx, throttled or unreachable: the state is unknown."""

    detail: str


Probe = S3Found | S3Gone | S3Forbidden | S3Unavailable


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


def same_bytes(left: Bytes, right: Bytes) -> bool:
    """Return whether the bytes are known to be the same.

    An etag is a digest of the bytes only if the object was put in one part and KMS does not encrypt it. Otherwise each
    copy of the same bytes has another etag. So if the etags differ, the bytes are the same if size and checksum are
    equal. Different checksums prove nothing: the checksum of a multipart object can depend on its parts.
    """
    if left.etag is None or right.etag is None:
        return False
    if left.etag == right.etag:
        return True
    return left.size is not None and left.size == right.size and bool(left.checksum) and left.checksum == right.checksum
