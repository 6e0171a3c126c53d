"""The table key: a table prefix as a Dagster partition key.

Keys never change (partitions, inbox folders, batches and Delta application ids contain them), so the
codec is fixed by property tests and never changes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.keys.s3_address import S3Address

MAX_ENCODED_LENGTH = 512
"""Longest table key in use: an S3 key has 1,024 bytes, and lake root, folder and manifest name share them."""

BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
"""Bucket names as AWS accepts them today."""

_ENCODED = re.compile(r"[A-Za-z0-9_~-]+(\.[A-Za-z0-9_~-]+)*")
_TOKEN = re.compile(r"~[0-9a-f]{2}|[A-Za-z0-9_-]")
# With the dot these are RFC 3986's unreserved characters but "~": percent-encoding leaves them alone.
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_EMPTY_SEGMENT = "~"
_WORDS = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")


@dataclass(frozen=True, order=True, slots=True)
class TableKey:
    """Names one table by its bucket and its table prefix.

    Attributes:
        bucket: bucket name.
        prefix: decoded key prefix with its trailing "/", or "" for the whole bucket.

    Raises:
        ValueError: the bucket is not a bucket name, the prefix does not end with "/", or it is not
            representable in UTF-8.
    """

    bucket: str
    prefix: str

    def __post_init__(self) -> None:
        if not BUCKET.fullmatch(self.bucket):
            raise BadValue(
                f"{self.bucket!r} is not a bucket name: 3 to 63 lower-case letters, digits, dots and "
                "hyphens, beginning and ending with a letter or digit"
            )
        if self.prefix and not self.prefix.endswith("/"):
            raise BadValue(f'the table prefix {self.prefix!r} must end with "/"')
        try:
            self.prefix.encode()
        except UnicodeEncodeError as error:
            raise BadValue(f"the table prefix {self.prefix!r} is not valid Unicode: {error.reason}") from None

    @classmethod
    def from_uri(cls, uri: str) -> TableKey:
        """Read `s3://bucket/prefix/`.

        Raises:
            ValueError: the text is not such a URI.
        """
        return cls(*S3Address.parse(uri))

    @classmethod
    def decode(cls, text: str) -> TableKey:
        """Read a partition key back.

        Raises:
            BadValue: `encode` never produced this text. The message says why.
        """
        if not _ENCODED.fullmatch(text):
            raise BadValue(f"{text!r} is not a table key: expected {_ENCODED.pattern}")
        try:
            bucket, *segments = [_decode_segment(part) for part in text.split(".")]
        except ValueError as error:
            raise BadValue(f"{text!r} is not a table key: {error}") from None
        key = cls(bucket, "".join(f"{segment}/" for segment in segments))
        if key.encode() != text:
            raise BadValue(f"{text!r} is not a table key: its canonical form is {key.encode()!r}")
        return key

    def encode(self) -> str:
        """Return the Dagster partition key: one segment for the bucket and one a folder, joined by dots.

        Letters, digits, "-" and "_" stand for themselves, every other byte is "~" and two hex digits, and an
        empty segment is "~" alone.
        """
        return ".".join(_encode_segment(segment) for segment in self._segments)

    @property
    def uri(self) -> str:
        """`s3://bucket/prefix/`."""
        return S3Address(self.bucket, self.prefix).s3

    @property
    def sql_name(self) -> str:
        """The table's SQL name if none is configured, unique over all table keys.

        Bucket and folders are joined by "__", with "_" for the bucket's hyphens: `shop-landing/order_items/` is
        `shop_landing__order_items`. What that would lose (capitals, dots, hyphens of folders, ...) is "_" too, or
        nothing; then "___" and a piece of the key's hash follow, which no name without loss can have.
        """
        bucket, *folders = self._segments
        parts = [bucket.replace("-", "_"), *folders]
        if all(_WORDS.fullmatch(part) for part in parts):
            return "__".join(parts)
        words = ("_".join(re.findall(r"[a-z0-9]+", part.lower())) for part in parts)
        return f"{'__'.join(filter(None, words))}___{hashlib.sha256(self.encode().encode()).hexdigest()[:8]}"

    @property
    def _segments(self) -> tuple[str, ...]:
        return (self.bucket, *(self.prefix[:-1].split("/") if self.prefix else ()))

    def __str__(self) -> str:
        return self.encode()


def _encode_segment(segment: str) -> str:
    return "".join(chr(byte) if byte in _PLAIN else f"~{byte:02x}" for byte in segment.encode()) or _EMPTY_SEGMENT


def _decode_segment(text: str) -> str:
    if text == _EMPTY_SEGMENT:
        return ""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise BadValue(f"{text!r} has a ~ without two lower-case hex digits behind it")
    try:
        segment = bytes(ord(token) if len(token) == 1 else int(token[1:], 16) for token in tokens).decode()
    except UnicodeDecodeError as error:
        raise BadValue(f"{text!r} is not UTF-8: {error.reason}") from None
    if "/" in segment:
        raise BadValue(f"{text!r} has a slash inside a segment")
    return segment
