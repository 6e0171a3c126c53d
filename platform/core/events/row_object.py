"""The objects that are made of a row queue's messages: their folders, and the data in their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from ulid import ULID

from tidegate.platform.core.times import from_millis

#: Time spans in one condition.
_MAX_SPANS = 32
#: 9999-01-01, in epoch milliseconds.
LATEST = 253_370_764_800_000
#: The folder below the lake root with the rows of row queues. It has a folder for each table.
FOLDER = "rows"
_NAME = re.compile(r"(?:^|/)[0-9A-HJKMNP-TV-Z]{26}-(\d+)-(\d+)-(\d+)\.jsonl$", re.ASCII)


def parse_row_key(key: str) -> RowObject:
    """Return the data in a key. The rows of an object of another writer may have been sent at any time."""
    return RowObject.of(key) or RowObject(0, 0, LATEST)


def rows_prefix(root: str, table: str) -> str:
    """Return the prefix of a row queue's table.

    Args:
        root: the lake root, `s3://bucket/path`.
        table: the table's SQL name.
    """
    return f"{root.rstrip('/')}/{FOLDER}/{table}/"


@dataclass(frozen=True, slots=True)
class RowObject:
    """The data of an object's rows in its name.

    Attributes:
        rows: how many messages the object has.
        first: epoch milliseconds from which on rows of a table may have a message of the object already. It is the time
            at which the oldest message was sent, and less if webhooks are among them.
        last: epoch milliseconds up to which rows of a table may have a message of the object already.
    """

    rows: int
    first: int
    last: int

    @classmethod
    def of(cls, key: str) -> Self | None:
        """Read a key. Returns None for an object that is not from the intake of a row queue."""
        found = _NAME.search(key)
        return cls(*map(int, found.groups())) if found else None

    def new_key(self, prefix: str, sent_at: int) -> str:
        """Return a new key below a table's prefix, in the folder of the day (UTC) on which the oldest row was sent.

        Args:
            prefix: of the table.
            sent_at: epoch milliseconds at which the oldest row was sent.
        """
        day = from_millis(sent_at).strftime("%Y-%m-%d")
        return f"{prefix}{day}/{ULID()}-{self.rows}-{self.first}-{self.last}.jsonl"


def spans(objects: Iterable[RowObject]) -> list[tuple[int, int]]:
    """Return the times (epoch milliseconds, inclusive) at which the rows of objects were sent, as few spans.

    Overlapping spans are joined. If there are still too many, the nearest spans are joined.
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted((item.first, item.last) for item in objects):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    widest = sorted(range(1, len(found)), key=lambda i: found[i - 1][1] - found[i][0])[: _MAX_SPANS - 1]
    starts = [0, *sorted(widest), len(found)]
    return [(found[a][0], found[b - 1][1]) for a, b in pairwise(starts) if b > a]
