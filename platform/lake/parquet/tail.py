"""The bytes of a Parquet footer, from the end of an object in S3."""

from __future__ import annotations

from dataclasses import replace

from tidegate.platform.core.bronze.object_state import Probe, S3Found
from tidegate.platform.core.files.parquet.bad import BadParquet
from tidegate.platform.core.files.parquet.footer import footer_bytes
from tidegate.platform.lake.aws.bucket import Bucket

#: Bytes of the first read of a file's end; a footer is rarely longer.
_TAIL_BYTES = 64 * 1024


def probe_with_footer(source: Bucket, key: str) -> Probe:
    """A Parquet object's present state, with its footer unless that is longer than the first read."""
    probe, tail = source.objects.head_with_tail(source.name, key, _TAIL_BYTES)
    if not isinstance(probe, S3Found) or not tail:
        return probe
    try:
        length = footer_bytes(tail, probe.size)
    except BadParquet:
        return probe
    return replace(probe, footer=tail[-length:]) if length <= len(tail) else probe


def footer_tail(source: Bucket, key: str, found: S3Found) -> bytes:
    """The bytes of an object's footer, on condition that the object is the one found.

    Raises:
        BadParquet: the object is no Parquet file.
        ObjectChanged: the object has another etag, or is gone.
        StoreError: S3 did not answer.
    """
    if found.footer is not None:
        return found.footer
    version = source.version(key, found.etag)
    tail = source.objects.tail(version, min(_TAIL_BYTES, found.size))
    length = footer_bytes(tail, found.size)
    if length > len(tail):
        tail = source.objects.tail(version, length)
    return tail[-length:]
