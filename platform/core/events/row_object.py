"""The objects that a row queue's messages become: where they lie, and what their names say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from ulid import ULID

from tidegate.platform.core.times import from_millis

#: Spans of time that a condition names, at most.
_MOST_SPANS = 32
#: 9999-01-01, in epoch milliseconds.
LATEST = 253_370_764_800_000
#: The folder below the lake root that holds the rows of row queues, a folder for each table.
FOLDER = "rows"
_NAME = re.compile(r"(?:^|/)[0-9A-HJKMNP-TV-Z]{26}-(\d+)-(\d+)-(\d+)\.jsonl$", re.ASCII)


def sent_in(key: str) -> RowObject:
    """What a key says; of an object that no row queue's intake wrote, that its rows were sent at any time."""
    return RowObject.of(key) or RowObject(0, 0, LATEST)


def rows_prefix(root: str, table: str) -> str:
    """The prefix of a row queue's table.

    Args:
        root: the lake root, `s3://bucket/path`.
        table: the table's SQL name.
    """
    return f"{root.rstrip('/')}/{FOLDER}/{table}/"


@dataclass(frozen=True, slots=True)
class RowObject:
    """What an object's name says of its rows.

    Attributes:
        rows: how many messages it holds.
        first: epoch milliseconds at which the oldest one was sent.
        last: epoch milliseconds at which the newest one was sent.
    """

    rows: int
    first: int
    last: int

    @classmethod
    def of(cls, key: str) -> Self | None:
        """What a key says; None for an object that no row queue's intake wrote."""
        found = _NAME.search(key)
        return cls(*map(int, found.groups())) if found else None

    def new_key(self, prefix: str) -> str:
        """A fresh key below a table's prefix, in the folder of the day (UTC) on which the oldest row was sent."""
        day = from_millis(self.first).strftime("%Y-%m-%d")
        return f"{prefix}{day}/{ULID()}-{self.rows}-{self.first}-{self.last}.jsonl"


def spans(objects: Iterable[RowObject]) -> list[tuple[int, int]]:
    """The times (epoch milliseconds, inclusive) at which the rows of some objects were sent, in few spans.

    Those that overlap are one; of too many, the nearest ones are joined.
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted((one.first, one.last) for one in objects):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    widest = sorted(range(1, len(found)), key=lambda i: found[i - 1][1] - found[i][0])[: _MOST_SPANS - 1]
    starts = [0, *sorted(widest), len(found)]
    return [(found[a][0], found[b - 1][1]) for a, b in pairwise(starts) if b > a]
