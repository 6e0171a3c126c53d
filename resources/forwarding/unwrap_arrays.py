"""Writes the elements of JSON arrays as JSON lines, one object for each object."""

from __future__ import annotations

import gzip
import zlib

from tidegate.platform.core.bronze.object_state import S3Forbidden, S3Found, S3Gone
from tidegate.platform.core.config.forwarding.routes import RouteSpec
from tidegate.platform.core.events.s3_event import S3Event
from tidegate.platform.core.forwarding.json_lines import json_lines
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.resources.aws.s3 import ObjectForbidden, ObjectStore, StoreError
from tidegate.resources.forwarding.object_action import Action

#: Bytes of an object, compressed and not. It is held in memory, up to eight of them at a time for each route.
MAX_BYTES = 64 << 20


def unwrap_arrays(route: RouteSpec, objects: ObjectStore) -> Action:
    """Return the action of a route with `unwrap`.

    The same bytes give the same object, so doing it twice changes nothing: neither its name nor its etag.

    Args:
        route: the route.
        objects: handle on S3.
    """
    bucket, folder = S3Address.parse(route.unwrap or "")

    def unwrap(event: S3Event, event_type: str | None) -> None:
        body = _read(objects, event)
        if body is None:
            return
        packed = event.key.endswith(".gz")
        text = (_unpacked(body) if packed else body).decode()
        content = "".join(f"{line}\n" for line in json_lines(text)).encode()
        # The whole name of the source is in the name, so no two sources write one object.
        key = f"{folder}{event.key}.jsonl{'.gz' if packed else ''}"
        objects.put(bucket, key, gzip.compress(content, mtime=0) if packed else content)

    return unwrap


def _read(objects: ObjectStore, event: S3Event) -> bytes | None:
    """Return the bytes of the object; None if it is gone."""
    probe, body = objects.head_with_body(event.bucket, event.key, MAX_BYTES)
    address = S3Address(event.bucket, event.key)
    match probe:
        case S3Gone():
            return None
        case S3Forbidden(detail):
            raise ObjectForbidden(f"{address}: {detail}")
        case S3Found(size=size) if size > MAX_BYTES:
            raise ValueError(f"it has {size:,} bytes, and an array of more than {MAX_BYTES:,} is not unwrapped")
        case S3Found() if body is not None:
            return body
    raise StoreError(f"{address}: S3 did not give the object")


def _unpacked(body: bytes) -> bytes:
    unpacking = zlib.decompressobj(wbits=31)
    try:
        content = unpacking.decompress(body, MAX_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"not a gzip file: {error}") from None
    if len(content) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes when it is unpacked")
    if not unpacking.eof:
        raise ValueError("the gzip file is cut off")
    return content
