"""Writes the elements of JSON arrays as JSON lines, one object for each object.

The text of each value stays as it is, so that numbers keep all of their digits.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable, Iterator

from tidegate.platform.core.bronze.object_state import S3Forbidden, S3Found, S3Gone
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.events.s3_event import S3Event
from tidegate.platform.core.files.gzip_members import BrokenGzip, read_beginning
from tidegate.platform.core.json_scanner import TooDeep, json_end
from tidegate.platform.core.keys.file_format import GZIP
from tidegate.platform.core.keys.object_key import key_length_problem
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.aws.s3 import ObjectForbidden, ObjectRefused, ObjectStore, StoreError
from tidegate.platform.lake.capacity import TooLarge, run_bounded
from tidegate.platform.lake.deadline import DeadlineExceeded, limit_seconds, seconds_left
from tidegate.platform.lake.forwarding.object_action import Action

#: Bytes of an object, compressed and not, and of one that is held next to others. In memory it takes up to eight times
#: as many: Python has four bytes for each character of a text with one that is outside of Unicode's first plane.
MAX_BYTES, _SMALL_BYTES = 64 << 20, 1 << 20
#: Seconds for the elements of one object. Ten are enough for one of `MAX_BYTES` whose elements are rows.
_SECONDS = 120.0

_SPACE = re.compile(r"[ \t\r\n]*")
_LINE_ENDS = re.compile(r"[\r\n]+")


def unwrap_arrays(route: RouteSpec, objects: ObjectStore) -> Action:
    """Return the action of a route with `unwrap`.

    The same bytes give the same object, so doing it twice changes nothing: neither its name nor its etag. Large objects
    are in memory one after another, whatever the number of routes.
    """
    bucket, folder = S3Address.parse(route.unwrap or "")

    def unwrap(event: S3Event, event_type: str | None) -> None:
        packed = event.key.endswith(GZIP)
        if route.bucket not in {None, event.bucket}:
            # Its event was taken when lake.yaml had another `bucket` here, or none.
            raise BadValue(f"it is in {event.bucket}, and the route unwraps objects of {route.bucket} only")
        # The whole key of the source is in the name, and lake.yaml has no folder to which objects of two buckets are
        # unwrapped. So no two sources write one object.
        key = f"{folder}{event.key}.jsonl{GZIP if packed else ''}"
        if why := key_length_problem(key, "its lines"):
            raise BadValue(why)

        def write(limit: int) -> None:
            body = _read(objects, event, limit)
            if body is not None:
                with limit_seconds(_SECONDS):
                    lines = _lines(body, limit, packed=packed)
                objects.put(bucket, key, lines)

        try:
            run_bounded(write, MAX_BYTES, shared_max_bytes=_SMALL_BYTES)
        except TooLarge:
            unpacked = " when it is unpacked" if packed else ""
            why = f"it has more than {MAX_BYTES:,} bytes{unpacked}, and an array of so many is not unwrapped"
            raise BadValue(why) from None
        except DeadlineExceeded:
            why = f"its elements took longer than {_SECONDS:.0f} seconds; write it with fewer, or fewer levels in them"
            raise BadValue(why) from None

    return unwrap


def _read(objects: ObjectStore, event: S3Event, limit: int) -> bytes | None:
    """Return the bytes of the object; None if it is gone.

    Raises:
        TooLarge: it has more than `limit`.
    """
    probe, body = objects.head_with_body(event.bucket, event.key, limit)
    address = S3Address(event.bucket, event.key)
    match probe:
        case S3Gone():
            return None
        case S3Forbidden(detail):
            raise (ObjectRefused if probe.of_the_object else ObjectForbidden)(f"{address}: {detail}")
        case S3Found(size=size) if size > limit:
            raise TooLarge
        case S3Found() if body is not None:
            return body
    raise StoreError(f"{address}: S3 did not give the object")


def _lines(body: bytes, limit: int, *, packed: bool) -> bytes:
    """Return the elements of an array as lines, packed if the array is."""
    content = io.BytesIO()
    for line in json_lines((_unpack_body(body, limit) if packed else body).decode(), seconds_left):
        content.write(line.encode())
        content.write(b"\n")
    return gzip.compress(content.getbuffer(), mtime=0) if packed else content.getvalue()


def _unpack_body(body: bytes, limit: int) -> bytes:
    try:
        content, whole = read_beginning(body, limit + 1)
    except BrokenGzip as error:
        raise BadValue(f"not a gzip file: {error}") from None
    if len(content) > limit:
        raise TooLarge
    if not whole:
        raise BadValue("the gzip file is cut off")
    return content


def json_lines(text: str, ask: Callable[[], object] = lambda: None) -> Iterator[str]:
    """Yield the elements of an array, each on a line. A text of other values, one after the other, gives these values.

    Args:
        text: the array, or the values.
        ask: is called for each element, and again and again within a long one. What it raises ends the work.

    Raises:
        BadValue: the text is not JSON. The message says where.
    """
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if not text.startswith("[", start):
        while start < len(text):
            line, start = _value(text, start, ask)
            yield line
        return
    place = _skip(text, start + 1)
    if text.startswith("]", place):
        _require_end(text, place + 1)
        return
    while True:
        line, place = _value(text, place, ask)
        yield line
        if text.startswith("]", place):
            _require_end(text, place + 1)
            return
        if not text.startswith(",", place):
            raise BadValue(f"neither ',' nor ']' follows the element of the array that ends at character {place:,}")
        place = _skip(text, place + 1)


def _value(text: str, start: int, ask: Callable[[], object]) -> tuple[str, int]:
    """Return the value at a place, without line ends, and the place of what follows."""
    try:
        end = json_end(text, start, ask)
    except TooDeep:
        raise BadValue(f"the value at character {start:,} is nested too deeply") from None
    except ValueError as error:
        raise BadValue(f"not JSON: {error}") from None
    return _LINE_ENDS.sub(" ", text[start:end]), _skip(text, end)


def _require_end(text: str, place: int) -> None:
    if _skip(text, place) != len(text):
        raise BadValue(f"something follows the array, at character {_skip(text, place):,}")


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
