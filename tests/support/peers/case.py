"""A case: what went wrong in another product, as input for a table that many cases share, and what is right."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
Ids = Callable[[int], int]
Body = str | bytes | Callable[[Ids], bytes]


@dataclass(frozen=True)
class Peer:
    """A case of files.

    Attributes:
        source: repository and number of the issue.
        was: what went wrong there, in our words.
        table: the table that it shares with other cases. Its columns are its own, but for `id`.
        body: the file. `@1` … `@9` in a text are ids that no other case has; a function gets them by number.
        rows: the table's rows of the file, by number of the id. Columns that are not named are not compared.
        types: Spark's types of columns.
        bad: number of rows that are quarantined.
        says: texts that the reason contains.
        before: a file of the batch before, if the columns must be there.
        key: name of the object.
        refused: whether the whole file is quarantined.
    """

    source: str
    was: str
    table: str
    body: Body
    rows: dict[int, Row] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    bad: int = 0
    says: tuple[str, ...] = ()
    before: Body | None = None
    key: str = ""
    refused: bool = False


@dataclass(frozen=True)
class Changes:
    """A case of silver.

    Attributes:
        source: repository and number of the issue.
        was: what went wrong there, in our words.
        table: the table that it shares with other cases. Its keys are its own.
        steps: rows that arrive between two merges, as JSON. `@1` … `@9` are ids that no other case has.
        rows: the rows that the view of silver has in the end, by number of the id. Columns that are not named are not
            compared.
    """

    source: str
    was: str
    table: str
    steps: tuple[str, ...]
    rows: tuple[tuple[int, Row], ...]


def ids_of(number: int) -> Ids:
    """Return the ids of the case with this number, from 1 to 9."""
    return lambda place: number * 10 + place


def written(body: Body, number: int) -> bytes:
    """Return the bytes of a body, with the ids of the case."""
    return body(ids_of(number)) if callable(body) else _filled(body, ids_of(number))


def packed(*members: str) -> Body:
    """Return the body of a file of gzip with these members."""
    return lambda ids: b"".join(gzip.compress(_filled(member, ids)) for member in members)


def _filled(body: str | bytes, ids: Ids) -> bytes:
    raw = body.encode() if isinstance(body, str) else body
    for place in range(1, 10):
        raw = raw.replace(b"@%d" % place, b"%d" % ids(place))
    return raw
