"""The address of an object of others, as Spark's readers take it: nothing else gives Spark an address of such a key."""

from __future__ import annotations

import re

from tidegate.platform.core.keys.object_key import is_hidden
from tidegate.platform.core.keys.s3_address import S3Address

#: Keys that every layer of Spark's readers uses unchanged. Others (`b[1].json`, `100%.json`) are globbed, decoded or
#: not found by one of them.
_PLAIN = re.compile(r"[A-Za-z0-9/_.=-]+")
_WILDCARD = re.compile(r"([\\*?\[\]{}])")
#: Folders that Hadoop's paths resolve: `a/../b` is `b` there, and in S3 it is another object.
_RESOLVED = frozenset({"", ".", ".."})


def plain_address(address: S3Address) -> str | None:
    """Return the `s3a://` address that every reader of Spark takes for this object. None: copy it to a plain key."""
    return address.s3a if _is_found(address.key) and _PLAIN.fullmatch(address.key) else None


def spark_pattern(address: S3Address) -> str:
    """Return the pattern that only this object matches: `DataFrameReader.load` takes addresses for patterns.

    Raises:
        ValueError: Spark finds the object by no address.
    """
    if not _is_found(address.key):
        raise ValueError(
            f"Spark would read another object in place of {address}, or none: its key has an empty folder, a folder "
            '"." or "..", or a name that begins with "_" or "."'
        )
    return _WILDCARD.sub(r"\\\1", address.s3a)


def _is_found(key: str) -> bool:
    """Whether Hadoop's paths have the key as it is, and Spark does not skip its name."""
    segments = key.split("/")
    return _RESOLVED.isdisjoint(segments) and not is_hidden(segments[-1])
