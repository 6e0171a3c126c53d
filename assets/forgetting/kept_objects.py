"""What the lake keeps of rows in objects of its own: the texts of bad rows, and the messages of row queues."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.platform.core.forgetting.mentions import mentions
from tidegate.resources.lake import Lake, Table
from tidegate.resources.suppression import Suppression
from tidegate.resources.threads import parallel


@dataclass(frozen=True)
class KeptObject:
    """An object of the lake with lines, or a message, of forgotten subjects.

    Attributes:
        key: its key.
        place: folder below the lake root, as `tidegate forget` shows it.
        found: number of its lines that are of forgotten subjects; 1 for a message.
        rest: the object without them; None if nothing is left.
    """

    key: str
    place: str
    found: int
    rest: bytes | None


def kept_objects(lake: Lake, table: Table, suppression: Suppression, *, since: float = 0.0) -> Iterator[KeptObject]:
    """Yield the objects of the lake that have something of forgotten subjects of a table. Nothing is changed.

    Args:
        lake: the lake.
        table: the table.
        suppression: the subjects, with the columns of the table.
        since: only objects that changed at this time or later, in epoch seconds by S3's clock.

    Raises:
        StoreError: S3 did not answer.
    """
    bad_rows = lake.store.key("quarantine", "rows", table.table_key, "")
    bad = partial(_is_bad_row_of, suppression=suppression)
    yield from _with_lines(lake, bad_rows, "quarantine/rows", bad, since)
    if table.spec.row_queue:
        rows = lake.store.key("rows", table.spec.name, "")
        yield from _with_lines(lake, rows, "rows", partial(_is_row_of, suppression=suppression), since)
        for folder in ("messages", "redriven"):
            yield from _messages(lake, folder, table.spec.row_queue.names, suppression, since)


def erase_kept_objects(lake: Lake, table: Table, suppression: Suppression, *, since: float = 0.0) -> int:
    """Take what is of forgotten subjects out of the objects of the lake. Returns the number of lines and messages.

    The arguments are as for `kept_objects`.

    Raises:
        StoreError: S3 did not answer.
    """
    objects, bucket, done = lake.store.objects, lake.store.bucket, 0
    for kept in kept_objects(lake, table, suppression, since=since):
        if kept.rest is None:
            objects.delete(bucket, [kept.key])
        else:
            objects.put(bucket, kept.key, kept.rest)
        done += kept.found
    return done


def _with_lines(
    lake: Lake, folder: str, place: str, is_of: Callable[[str], bool], since: float
) -> Iterator[KeptObject]:
    objects, bucket = lake.store.objects, lake.store.bucket

    def divided(key: str) -> KeptObject | None:
        body = objects.get(bucket, key)
        if body is None:
            return None
        lines = body.split(b"\n")
        kept = [line for line in lines if not line or not is_of(line.decode("utf-8", "replace"))]
        if len(kept) == len(lines):
            return None
        return KeptObject(key, place, len(lines) - len(kept), b"\n".join(kept) if any(kept) else None)

    yield from filter(None, parallel(divided, _changed(lake, folder, since)))


def _messages(
    lake: Lake, folder: str, queues: Sequence[str], suppression: Suppression, since: float
) -> Iterator[KeptObject]:
    objects, bucket, root = lake.store.objects, lake.store.bucket, lake.store.key("quarantine", folder, "")

    def found(key: str) -> KeptObject | None:
        content = _parsed((objects.get(bucket, key) or b"").decode("utf-8", "replace"))
        if content is None or (content.get("row") or {}).get("queue") not in queues:
            return None
        is_of = _is_row_of(str(content.get("body", "")), suppression)
        return KeptObject(key, f"quarantine/{folder}", 1, None) if is_of else None

    yield from filter(None, parallel(found, _changed(lake, root, since)))


def _changed(lake: Lake, folder: str, since: float) -> list[str]:
    """Returns the keys of the objects of a folder that changed at a time or later."""
    return [item.key for item in lake.store.objects.under(lake.store.bucket, folder) if item.modified >= since]


def _is_bad_row_of(line: str, suppression: Suppression) -> bool:
    content = _parsed(line)
    if content is None:
        return mentions(line, suppression.holds)
    return any(mentions(str(content.get(name) or ""), suppression.holds) for name in ("raw", "reason"))


def _is_row_of(text: str, suppression: Suppression) -> bool:
    """A row that can be read is of the subjects in its fields. Another text is if it mentions one."""
    content = _parsed(text)
    if content is None:
        return mentions(text, suppression.holds)
    subjects = [found for name in suppression.subject for found in _values(content, name.lower().split("."))]
    proper = [subject for subject in subjects if isinstance(subject, str | int) and not isinstance(subject, bool)]
    if any(suppression.holds(str(subject)) for subject in proper):
        return True
    return len(proper) < len(subjects) and mentions(text, suppression.holds)


def _values(content: Any, path: Sequence[str]) -> Iterator[Any]:
    if not path:
        if content is not None:
            yield content
    elif isinstance(content, dict):
        for name, value in content.items():
            if name.lower() == path[0]:
                yield from _values(value, path[1:])


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
