"""The present state of an object, from S3's answer to a HEAD request."""

from __future__ import annotations

from dataclasses import dataclass, field


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
        of_the_object: whether the answer can be no other object's: it is no 403.
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
