"""The logs: messages and events that lead to no table, and which person requested which operation, and when."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import Any, NamedTuple

from ulid import ULID

from tidegate.platform.core.routing.unrouted_events import Unrouted
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.threads import parallel

_DAY_SECONDS = 24 * 3600
#: Entries that one call reads, and their bytes, unless a single entry has more. The next call continues.
_MAX_ENTRIES, _MAX_BYTES = 1000, 16 << 20


@dataclass(frozen=True, slots=True)
class IntakeEntry:
    """What one tick received from one queue that has no table.

    Attributes:
        counters: events by outcome.
        unrouted: these events, without those of commits, which are only counted.
    """

    counters: Mapping[str, int]
    unrouted: tuple[Unrouted, ...]


class LogPart(NamedTuple):
    """Some entries of the intake log.

    Attributes:
        last: from where the next part is read.
        entries: those that can be read.
        damaged: a sentence for each that cannot.
    """

    last: str
    entries: Sequence[IntakeEntry]
    damaged: Sequence[str]


class IntakeLog:
    """`intake/<yyyy-mm-dd>/<ULID>.json`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def put(self, counters: Mapping[str, int], unrouted: Sequence[Unrouted]) -> None:
        """Write an entry.

        Args:
            counters: events by outcome.
            unrouted: those that the log keeps.
        """
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        rows = [event.to_row() for event in unrouted]
        self._root.objects.put(
            self._root.bucket,
            self._root.key("intake", day, f"{ULID()}.json"),
            json.dumps({"format": 1, "counters": counters, "rows": rows}, ensure_ascii=False),
        )

    def entries(self, day: str | None = None) -> Iterator[IntakeEntry]:
        """Read the entries of a day (yyyy-mm-dd, UTC), or all entries."""
        prefix = self._root.key("intake", *([day] if day else []), "")
        objects, bucket = self._root.objects, self._root.bucket
        keys = [item.key for item in objects.list_under(bucket, prefix)]
        for body in parallel(lambda key: objects.get(bucket, key), keys):
            if body is not None:
                yield _entry_of(body)

    def entries_after(self, last: str, before: float) -> LogPart:
        """Read entries that other processes wrote, oldest first and at most a thousand.

        Args:
            last: `last` of the part before; empty for the entries of the last day.
            before: epoch seconds; later entries are left for the next call. An entry that was begun earlier than
                others may be there later than these, so the time should be some seconds ago.
        """
        since = datetime.fromtimestamp(before - _DAY_SECONDS, UTC).strftime("%Y-%m-%d")
        prefix = self._root.key("intake", "")
        # The lake may have had another root.
        after = last if last.startswith(prefix) else self._root.key("intake", since, "")
        listed = self._root.objects.list_under(self._root.bucket, prefix, after)
        # A file that a person has put there is no entry.
        named = ((item, at) for item in listed if (at := _time_of(item.key)) is not None)
        old = (item for item, _ in takewhile(lambda entry: entry[1] < before, named))
        keys, size = list[str](), 0
        for item in islice(old, _MAX_ENTRIES):
            size += item.size
            if keys and size > _MAX_BYTES:
                break
            keys.append(item.key)
        entries, damaged = list[IntakeEntry](), list[str]()
        for key, body in parallel(lambda key: (key, self._root.objects.get(self._root.bucket, key)), keys):
            try:
                entries += [_entry_of(body)] if body is not None else []
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                damaged.append(f"{self._root.address(key)} is not an entry of the intake log: {first_line(error)}")
        return LogPart(keys[-1] if keys else last, entries, damaged)

    def place_of(self, at: float) -> str:
        """Return from where `entries_after` reads entries that are written after a time, in epoch seconds."""
        day = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
        return self._root.key("intake", day, f"{ULID.from_timestamp(at)}.json")


def _entry_of(body: bytes) -> IntakeEntry:
    entry = json.loads(body)
    return IntakeEntry(entry["counters"], tuple(map(Unrouted.from_row, entry["rows"])))


def _time_of(key: str) -> float | None:
    """Return the epoch seconds of an entry by its key; None if the key is not that of an entry."""
    try:
        return ULID.from_str(key.rpartition("/")[2].removesuffix(".json")).timestamp
    except ValueError:
        return None


class OperationsLog:
    """`operations/<yyyy-mm-dd>/<ULID>.json`."""

    def __init__(self, root: LakeRoot) -> None:
        self._root = root

    def put(self, operation: str, by: str, **facts: Any) -> str:
        """Write an entry before the operation begins. Returns the entry's `s3://` address."""
        now = datetime.now(UTC)
        body = {"format": 1, "operation": operation, "by": by, "at": now.isoformat(timespec="seconds"), **facts}
        key = self._root.key("operations", now.strftime("%Y-%m-%d"), f"{ULID()}.json")
        self._root.objects.put_if_absent(self._root.bucket, key, json.dumps(body, ensure_ascii=False))
        return self._root.address(key)

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield all entries of the log, oldest first."""
        for item in self._root.objects.list_under(self._root.bucket, self._root.key("operations", "")):
            if body := self._root.objects.get(self._root.bucket, item.key):
                yield json.loads(body)
