"""The present state of an object, as S3 answers a HEAD."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class S3Found:
    """A HEAD that answered.

    Attributes:
        size: bytes.
        modification_time: epoch milliseconds.
        checksum: algorithm and value, where S3 said it.
        digested: whether the etag is a digest of the bytes, as far as encryption goes; not where KMS encrypts them.
        footer: a Parquet object's last bytes, footer and all, where they came with the answer.
        body: all bytes of a small object, where they came with the answer.
    """

    etag: str
    size: int
    modification_time: int
    version_id: str | None = None
    checksum: str | None = None
    digested: bool = True
    footer: bytes | None = field(default=None, repr=False, compare=False)
    body: bytes | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class S3Gone:
    """404, in a bucket that exists."""


@dataclass(frozen=True)
class S3Forbidden:
    """403."""

    detail: str


@dataclass(frozen=True)
class S3Unavailable:
    """5xx, throttled or unreachable: S3 did not say."""

    detail: str


Probe = S3Found | S3Gone | S3Forbidden | S3Unavailable
