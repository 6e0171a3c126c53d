"""The table key: a table prefix as a Dagster partition key.

Keys are for ever (partitions, inbox folders, batches and Delta application ids carry them), so the
codec is fixed by property tests and never changes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from tidegate.platform.core.object_key import parse_s3_uri

MAX_ENCODED_LENGTH = 512
"""Longest table key in use: an S3 key has 1,024 bytes, and lake root, folder and manifest name share them."""

BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
"""Bucket names as AWS accepts them today."""

_ENCODED = re.compile(r"[a-z0-9][a-z0-9_]*(\.[a-z0-9_]+)*")
_TOKEN = re.compile(r"__|_[0-9a-f]{2}|[a-z0-9]")
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
_EMPTY_SEGMENT = "_z"


@dataclass(frozen=True, order=True, slots=True)
class TableKey:
    """Names one table by its bucket and its table prefix.

    Attributes:
        bucket: Bucket name.
        prefix: Decoded key prefix with its trailing "/", or "" for the whole bucket.

    Raises:
        ValueError: The bucket is no bucket name, the prefix does not end with "/", or it is not
            representable in UTF-8.
    """

    bucket: str
    prefix: str

    def __post_init__(self) -> None:
        if not BUCKET.fullmatch(self.bucket):
            raise ValueError(
                f"{self.bucket!r} is not a bucket name: 3 to 63 lower-case letters, digits, dots and "
                "hyphens, beginning and ending with a letter or digit"
            )
        if self.prefix and not self.prefix.endswith("/"):
            raise ValueError(f'the table prefix {self.prefix!r} must end with "/"')
        try:
            self.prefix.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"the table prefix {self.prefix!r} is not valid Unicode: {error.reason}") from None

    @classmethod
    def from_uri(cls, uri: str) -> TableKey:
        """Reads `s3://bucket/prefix/`.

        Raises:
            ValueError: The text is not such a URI.
        """
        return cls(*parse_s3_uri(uri))

    @classmethod
    def decode(cls, text: str) -> TableKey:
        """Reads a partition key back.

        Raises:
            ValueError: `encode` never produced this text; the message says why.
        """
        if not _ENCODED.fullmatch(text):
            raise ValueError(f"{text!r} is not a table key: expected {_ENCODED.pattern}")
        try:
            bucket, *segments = [_decode_segment(part) for part in text.split(".")]
        except ValueError as error:
            raise ValueError(f"{text!r} is not a table key: {error}") from None
        key = cls(bucket, "".join(f"{segment}/" for segment in segments))
        if key.encode() != text:
            raise ValueError(f"{text!r} is not a table key: its canonical form is {key.encode()!r}")
        return key

    def encode(self) -> str:
        """The Dagster partition key: one segment for the bucket and one a folder, joined by dots."""
        segments = self.prefix[:-1].split("/") if self.prefix else []
        return ".".join(_encode_segment(segment) for segment in (self.bucket, *segments))

    @property
    def uri(self) -> str:
        """`s3://bucket/prefix/`."""
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def sql_name(self) -> str:
        """The table's SQL name where none is configured, unique over all table keys.

        "." and an escape both become "_" here, so a key that has escapes gets a piece of its hash. The
        two underscores before it keep such names apart from those without: a key free of escapes
        never has two in a row.
        """
        key = self.encode()
        name = key.replace(".", "_")
        return f"{name}__{hashlib.sha256(key.encode()).hexdigest()[:6]}" if "_" in key else name

    def __str__(self) -> str:
        return self.encode()


def _encode_segment(segment: str) -> str:
    if not segment:
        return _EMPTY_SEGMENT
    return "".join(
        chr(byte) if byte in _PLAIN else "__" if byte == ord("_") else f"_{byte:02x}" for byte in segment.encode()
    )


def _decode_segment(text: str) -> str:
    if text == _EMPTY_SEGMENT:
        return ""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise ValueError(f"{text!r} has an escape that is neither __ nor _ with two hex digits")
    raw = bytes(ord(token) if len(token) == 1 else 95 if token == "__" else int(token[1:], 16) for token in tokens)
    try:
        segment = raw.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{text!r} is not UTF-8: {error.reason}") from None
    if "/" in segment:
        raise ValueError(f"{text!r} has a slash inside a segment")
    return segment
