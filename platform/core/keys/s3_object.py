"""One version of an object in S3: the condition of every read, copy and delete of bytes that were seen before."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.platform.core.keys.s3_address import S3Address


class S3Object(NamedTuple):
    """The bytes that an address had when S3 reported this etag for it.

    The version id of a versioned bucket is something else: two of them can have the same etag.
    """

    address: S3Address
    etag: str
