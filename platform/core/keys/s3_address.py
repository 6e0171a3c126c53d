"""The address of an object or a folder in S3: the only place that reads and writes `s3://` and `s3a://`."""

from __future__ import annotations

from typing import NamedTuple


class S3Address(NamedTuple):
    """A bucket and a key in it, or a key prefix; "" for the bucket itself.

    As text it is its `s3://` form.
    """

    bucket: str
    key: str = ""

    @classmethod
    def parse(cls, uri: str) -> S3Address:
        """Reads `s3://bucket/key`.

        Raises:
            ValueError: the text does not begin with `s3://` and a bucket.
        """
        return cls._parse("s3", uri)

    @classmethod
    def parse_s3a(cls, uri: str) -> S3Address:
        """Reads `s3a://bucket/key`, the form of Spark and of table locations.

        Raises:
            ValueError: the text does not begin with `s3a://` and a bucket.
        """
        return cls._parse("s3a", uri)

    @staticmethod
    def names(text: str) -> bool:
        """Whether a person who wrote this text means an address, and not a name or a folder."""
        return text.startswith("s3://")

    @classmethod
    def _parse(cls, expected: str, uri: str) -> S3Address:
        scheme, _, rest = uri.partition("://")
        bucket, _, key = rest.partition("/")
        if scheme != expected or not bucket:
            raise ValueError(f"{uri!r} is not of the form {expected}://bucket/key")
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
