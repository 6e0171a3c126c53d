"""The address of an object or a folder in S3: the only place that reads and writes `s3://` and `s3a://`.

Spark's readers and log stores have spellings of their own for some addresses.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.keys.object_key import is_hidden

#: Characters that writers that encode paths leave as they are.
_LEFT_IN_PATHS = "/!$&'()*+,;=:@~"

#: Keys that every layer of Spark's readers uses unchanged. Others (`b[1].json`, `100%.json`) are globbed, decoded or
#: not found by one of them.
_PLAIN = re.compile(r"[A-Za-z0-9/_.=-]+")
_WILDCARD = re.compile(r"([\\*?\[\]{}])")
#: Folders that Hadoop's paths resolve: `a/../b` is `b` there, and in S3 it is another object.
_RESOLVED = frozenset({"", ".", ".."})


class S3Address(NamedTuple):
    """A bucket and a key in it, or a key prefix; "" for the bucket itself.

    As text it is its `s3://` form.
    """

    bucket: str
    key: str = ""

    @classmethod
    def parse(cls, uri: str) -> S3Address:
        """Read `s3://bucket/key`.

        Raises:
            ValueError: the text does not begin with `s3://` and a bucket.
        """
        return cls._parse("s3", uri)

    @classmethod
    def parse_s3a(cls, uri: str) -> S3Address:
        """Read `s3a://bucket/key`, the form of Spark and of table locations.

        Raises:
            ValueError: the text does not begin with `s3a://` and a bucket.
        """
        return cls._parse("s3a", uri)

    @staticmethod
    def names(text: str) -> bool:
        """Return whether a person who wrote this text means an address, and not a name or a folder."""
        return text.startswith("s3://")

    @classmethod
    def _parse(cls, expected: str, uri: str) -> S3Address:
        scheme, _, rest = uri.partition("://")
        bucket, _, key = rest.partition("/")
        if scheme != expected or not bucket:
            raise BadValue(f"{uri!r} is not of the form {expected}://bucket/key")
        return cls(bucket, key)

    @property
    def s3(self) -> str:
        """`s3://bucket/key`, as people and AWS write it."""
        return f"s3://{self.bucket}/{self.key}"

    @property
    def s3a(self) -> str:
        """`s3a://bucket/key`, as Spark reads it."""
        return f"s3a://{self.bucket}/{self.key}"

    @property
    def bare(self) -> str:
        """`bucket/key`, without a scheme; only the bucket if there is no key."""
        return f"{self.bucket}/{self.key}" if self.key else self.bucket

    def __str__(self) -> str:
        return self.s3


class S3Object(NamedTuple):
    """The bytes that an address had when S3 reported this etag for it.

    The version id of a versioned bucket is something else: two of them can have the same etag.
    """

    address: S3Address
    etag: str


def spellings(location: str) -> list[str]:
    """Return the spellings of a table's path under which its entries may be kept. The table's own spelling comes first.

    Args:
        location: the table's `s3a://` URI, not percent-encoded.
    """
    bucket, key = S3Address.parse_s3a(location.rstrip("/"))
    paths = dict.fromkeys((S3Address(bucket, key), S3Address(bucket, quote(key, safe=_LEFT_IN_PATHS))))
    return [spelling.rstrip("/") for path in paths for spelling in (path.s3a, path.s3)]


def plain_address(address: S3Address) -> str | None:
    """Return the `s3a://` address that every reader of Spark takes for this object. None: copy it to a plain key."""
    return address.s3a if _is_found(address.key) and _PLAIN.fullmatch(address.key) else None


def spark_pattern(address: S3Address) -> str:
    """Return the pattern that only this object matches: `DataFrameReader.load` takes addresses for patterns.

    Raises:
        BadValue: Spark finds the object by no address.
    """
    if not _is_found(address.key):
        raise BadValue(
            f"Spark would read another object in place of {address}, or none: its key has an empty folder, a folder "
            '"." or "..", or a name that begins with "_" or "."'
        )
    return _WILDCARD.sub(r"\\\1", address.s3a)


def _is_found(key: str) -> bool:
    """Return whether Hadoop's paths have the key as it is, and Spark does not skip its name."""
    segments = key.split("/")
    return _RESOLVED.isdisjoint(segments) and not is_hidden(segments[-1])
