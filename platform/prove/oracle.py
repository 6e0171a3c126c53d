"""Computes what the tables of a run must have, from the bytes of the operations alone.

Nothing of Tidegate and no Spark is used: files are read with Python's json and csv and with pyarrow, and the rules that
a user expects are written a second time. Operations are replayed wave by wave. Of a key only its state at the end of a
wave counts.

Registered (orders): the rows of the files that exist. A key that was written again is out, since its bytes may not
change. Loaded (all others): the rows of every content that a key had at the end of a wave, also if the key was deleted
later; a content that did not change adds nothing. Silver: of each key the row with the latest time, in whatever order
rows came. If that row deletes, the key is hidden. Of a registered table's removed file no row stays.

A person who was forgotten has no row, and later files bring none.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = tuple[Any, ...]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TABLES = {"orders/": ".parquet", "customers/": ".json", "products/": ".csv", "accounts/": ".json"}


@dataclass(frozen=True)
class Content:
    """What is in a file: its rows, the number of its bad rows, and whether nothing of it can be read."""

    rows: tuple[Row, ...] = ()
    bad_rows: int = 0
    unreadable: bool = False


@dataclass
class Expected:
    """What must be found.

    Attributes:
        tables: the rows of each table, with how often each row is there.
        quarantined: keys of objects that could not enter.
        bad_rows: number of rows that could not enter, by key.
        states: the last state of each key of a table: `committed`, `quarantined` or `removed`.
    """

    tables: dict[str, Counter[Row]] = field(default_factory=dict)
    quarantined: set[str] = field(default_factory=set)
    bad_rows: dict[str, int] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)


class Oracle:
    """Replays operations."""

    def __init__(self) -> None:
        self._present: dict[str, tuple[bytes, Content]] = {}
        self._loaded: dict[str, list[Content]] = {"customers": [], "products": [], "accounts": []}
        self._bad_rows: dict[str, int] = {}
        self._states: dict[str, str] = {}
        self._overwritten: set[str] = set()
        self._forgotten: set[int] = set()

    def put(self, key: str, body: bytes) -> None:
        """Replay a put. A key of no table changes nothing."""
        table = table_of(key)
        if table is None or (key in self._present and self._present[key][0] == body):
            return
        if table == "orders" and key in self._present:
            self._overwritten.add(key)
        content = read_content(table, body)
        self._present[key] = (body, content)
        if content.bad_rows and not content.unreadable:
            self._bad_rows[key] = self._bad_rows.get(key, 0) + content.bad_rows
        is_out = content.unreadable or key in self._overwritten
        self._states[key] = "quarantined" if is_out else "committed"
        if table != "orders" and not content.unreadable:
            self._loaded[table].append(content)

    def delete(self, key: str) -> None:
        """Replay a delete."""
        if self._present.pop(key, None) is not None:
            self._states[key] = "removed"

    def forget(self, person: int) -> None:
        """Forget a person: of the rows so far, and of those that come."""
        self._forgotten.add(person)

    def expect(self) -> Expected:
        """Return what must be found now."""
        rows = {name: [row for content in contents for row in content.rows] for name, contents in self._loaded.items()}
        rows["customers"] = [row for row in rows["customers"] if row[0] not in self._forgotten]
        rows["orders"] = [
            row
            for key, (_, content) in self._present.items()
            if table_of(key) == "orders" and key not in self._overwritten and not content.unreadable
            for row in content.rows
        ]
        tables = {f"bronze.{name}": Counter(found) for name, found in rows.items()}
        tables["silver.orders"] = Counter(_newest_rows(rows["orders"], lambda row: row[2]))
        customers = _newest_rows(rows["customers"], lambda row: row[3])
        tables["silver.customers"] = Counter(row[:4] for row in customers if not row[4])
        tables["silver.accounts"] = Counter(_accounts(rows["accounts"]))
        quarantined = {key for key, state in self._states.items() if state == "quarantined"}
        return Expected(tables, quarantined, dict(self._bad_rows), dict(self._states))


def table_of(key: str) -> str | None:
    """Return the table of a key; None for a key of no table."""
    if any(part.startswith(("_", ".")) for part in key.split("/")):
        return None
    return next(
        (prefix[:-1] for prefix, ending in _TABLES.items() if key.startswith(prefix) and key.endswith(ending)), None
    )


def read_content(table: str, body: bytes) -> Content:
    """Return what is in a file of a table."""
    if table == "orders":
        return _parquet(body)
    read: dict[str, Callable[[str], Iterable[Row | None]]] = {
        "customers": _customers,
        "products": _products,
        "accounts": _changes,
    }
    rows = list(read[table](body.decode()))
    good = tuple(row for row in rows if row is not None)
    return Content(good, len(rows) - len(good), unreadable=not good)


def _parquet(body: bytes) -> Content:
    try:
        found = pq.read_table(io.BytesIO(body))
    except (pa.ArrowInvalid, OSError):
        return Content(unreadable=True)
    times = found["updated_at"].cast(pa.int64()).to_pylist()
    return Content(tuple(zip(found["id"].to_pylist(), found["amount"].to_pylist(), times, strict=True)))


def _customers(text: str) -> Iterable[Row | None]:
    kinds = {"id": int, "name": str, "mail": str, "updated_at": str, "deleted": bool}
    for line in text.splitlines():
        try:
            row = json.loads(line)
            fits = all(type(row[name]) is kind for name, kind in kinds.items())
            yield (row["id"], row["name"], row["mail"], _micros(row["updated_at"]), row["deleted"]) if fits else None
        except (ValueError, KeyError, TypeError):
            yield None


def _products(text: str) -> Iterable[Row | None]:
    header, *rows = csv.reader(io.StringIO(text))
    for cells in rows:
        try:
            if header != ["sku", "price", "stock"] or len(cells) != len(header):
                raise ValueError
            yield cells[0], float(cells[1]), int(cells[2])
        except ValueError:
            yield None


def _changes(text: str) -> Iterable[Row | None]:
    for line in text.splitlines():
        row = json.loads(line)
        before, after = row["before"] or {}, row["after"] or {}
        values = [part.get(name) for part in (before, after) for name in ("id", "balance")]
        yield row["op"], *values, row["source"]["lsn"]


def _newest_rows(rows: Iterable[Row], order: Callable[[Row], Any]) -> list[Row]:
    found: dict[Any, Row] = {}
    for row in rows:
        if row[0] not in found or order(row) > order(found[row[0]]):
            found[row[0]] = row
    return list(found.values())


def _accounts(rows: Iterable[Row]) -> list[Row]:
    keyed = [(row[3] if row[3] is not None else row[1], row) for row in rows]
    newest = _newest_rows(((id, row) for id, row in keyed), lambda pair: pair[1][5])
    return [(id, row[4]) for id, row in newest if row[0] != "d"]


def _micros(text: str) -> int:
    return (datetime.fromisoformat(text.replace("Z", "+00:00")) - _EPOCH) // timedelta(microseconds=1)
