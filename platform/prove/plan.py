"""The files of a run: what four systems write, with all that goes wrong, as operations on a bucket and a queue.

Nothing here knows Tidegate. The operations are in waves. Within a wave a key is written or deleted once, so what is
there at the end of a wave does not depend on when it is read. The numbers are drawn from a seed.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

#: The person who is forgotten after the second wave, and of whom the third brings rows again.
PERSON = 7
#: Waves: the first export, corrections and faults, and late files after a person was forgotten.
WAVES = (1, 2, 3)
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
#: Shares of the files.
_SHARES = {"customers": 0.4, "accounts": 0.25, "products": 0.2, "orders": 0.15}
_MIN_FILES = 60


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes:
        op: `put` and `delete` are of the bucket. A `notice` is a notification of the key that nothing caused: a
            repeated or a late one. A `message` is not a notification.
        key: of the object.
        body: of the object, or of the message.
        kind: what it stands for, in words.
        event: of a notice, as S3 names it.
        bucket: of a notice about another bucket than the run's.
    """

    wave: int
    op: Literal["put", "delete", "notice", "message"]
    key: str
    body: bytes = b""
    kind: str = "export"
    event: str = ""
    bucket: str = ""


@dataclass
class _Writer:
    """The systems: each method writes a file."""

    random: random.Random
    done: list[Operation] = field(default_factory=list)
    wave: int = 1
    lsn: int = 0
    balances: dict[int, int] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)

    def put(self, key: str, body: bytes, kind: str = "export") -> None:
        self.done.append(Operation(self.wave, "put", key, body, kind))

    def moment(self) -> datetime:
        """Return a time that no row has: so the newest row of a key is always one row."""
        while (second := self.random.randrange(300 * 24 * 3600)) in self.used:
            pass
        self.used.add(second)
        return _FIRST + timedelta(seconds=second)

    def customer(self, id: int | None = None, **more: Any) -> dict[str, Any]:
        id = self.random.randrange(1, 400) if id is None else id
        name = f"Customer {id}"
        return {
            "id": id,
            "name": name,
            "mail": f"c{id}.{self.random.randrange(100)}@example.org",
            "updated_at": self.moment().isoformat().replace("+00:00", "Z"),
            "deleted": self.random.random() < 0.05,
            **more,
        }

    def customers(self) -> bytes:
        rows = [self.customer() for _ in range(8)]
        return _lines([*rows, *rows[:1]] if self.random.random() < 0.2 else rows)

    def change(self) -> dict[str, Any]:
        """Return the next change of the accounts' database."""
        self.lsn += 1
        id, source = self.random.randrange(1, 300), {"lsn": self.lsn}
        before, balance = self.balances.get(id), self.random.randrange(10_000)
        old = None if before is None else {"id": id, "balance": before}
        if old and self.random.random() < 0.1:
            del self.balances[id]
            return {"op": "d", "before": old, "after": None, "source": source}
        self.balances[id] = balance
        after = {"id": id, "balance": balance}
        return {"op": "u" if old else "c", "before": old, "after": after, "source": source}

    def products(self) -> bytes:
        draw = self.random
        rows = [f"s-{draw.randrange(500)},{draw.randrange(10_000) / 100},{draw.randrange(90)}" for _ in range(5)]
        return ("\n".join(["sku,price,stock", *rows]) + "\n").encode()

    def orders(self) -> bytes:
        times = [self.moment() for _ in range(10)]
        ids = [self.random.randrange(1, 2_000) for _ in times]
        table = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "amount": pa.array([self.random.randrange(10_000) / 100 for _ in times], pa.float64()),
                "updated_at": pa.array(times, pa.timestamp("us", tz="UTC")),
            }
        )
        sink = io.BytesIO()
        pq.write_table(table, sink)
        return sink.getvalue()


def make_plan(files: int, seed: int = 1) -> list[Operation]:
    """Return the operations of a run.

    Args:
        files: number of files, at least 60.
        seed: of everything that is drawn.

    Raises:
        ValueError: there are too few files for all that should go wrong.
    """
    if files < _MIN_FILES:
        raise ValueError(f"{files} files are too few: give {_MIN_FILES} or more")
    writer = _Writer(random.Random(seed))
    late = max(6, files // 40)
    faults = _count_faults(files)
    _first_wave(writer, files - late - faults - 1)
    writer.wave = 2
    _second_wave(writer, faults)
    writer.wave = 3
    _third_wave(writer, late)
    return writer.done


def _count_faults(files: int) -> int:
    """Return the number of the second wave's files."""
    return max(16, files // 12)


def _first_wave(writer: _Writer, files: int) -> None:
    counts = {name: int(files * share) for name, share in _SHARES.items()}
    counts["customers"] += files - sum(counts.values())
    changes = [[writer.change() for _ in range(6)] for _ in range(counts["accounts"])]
    # The files of a database's changes arrive in any order.
    writer.random.shuffle(changes)
    make: dict[str, Callable[[], bytes]] = {
        "customers": writer.customers,
        "products": writer.products,
        "orders": writer.orders,
    }
    endings = {"customers": "json", "products": "csv", "orders": "parquet"}
    for name, write in make.items():
        for number in range(counts[name]):
            writer.put(f"{name}/{number:06d}.{endings[name]}", write())
    for number, rows in enumerate(changes):
        writer.put(f"accounts/{number:06d}.json", _lines(rows))
    writer.put("customers/person.json", _lines([writer.customer(PERSON, deleted=False) for _ in range(2)]))
    writer.random.shuffle(writer.done)


def _second_wave(writer: _Writer, files: int) -> None:
    first = {operation.key: operation for operation in writer.done}
    good = writer.customers
    writer.put("customers/empty.json", b"", "bad: an empty object")
    writer.put("customers/page.json", b"<html>502 Bad Gateway</html>\n", "bad: an error page")
    writer.put("orders/cut.parquet", writer.orders()[:200], "bad: a file that was cut off")
    writer.put("products/texts.csv", b"sku,price,stock\ns-1,cheap,many\n", "bad: a file of which no row fits")
    broken = [*good().splitlines(), b'{"id": 3, "na', json.dumps(writer.customer() | {"id": "x"}).encode()]
    writer.put("customers/broken-rows.json", b"\n".join(broken) + b"\n", "bad: two rows of many")
    ragged = writer.products() + b"s-1,1.0\ns-2,cheap,4\n"
    writer.put("products/ragged.csv", ragged, "bad: two rows of seven")
    writer.put("customers/50%+é [1].json", good(), "an awkward name")
    writer.put("customers/_tmp.json", good(), "a hidden name, which is not a file of the table")
    writer.put("readme.txt", b"hello\n", "a file of no table")
    writer.put("orders/000000.parquet", writer.orders(), "a write-once key, overwritten")
    writer.done.append(Operation(2, "delete", "orders/000001.parquet", kind="a removed file of a registered table"))
    writer.done.append(Operation(2, "delete", "customers/000001.json", kind="a removed file of a loaded table"))
    writer.put("customers/000002.json", first["customers/000002.json"].body, "the same bytes again")
    overwritten = ("customers", "products")
    for number in range(files - 11):
        name = overwritten[number % 2]
        key = f"{name}/{3 + number // 2:06d}.{'json' if name == 'customers' else 'csv'}"
        known = key in first
        writer.put(key, good() if name == "customers" else writer.products(), "overwritten" if known else "export")
    _notices(writer)


def _notices(writer: _Writer) -> None:
    created, removed = "ObjectCreated:Put", "ObjectRemoved:Delete"

    def notice(key: str, event: str, kind: str, bucket: str = "") -> None:
        writer.done.append(Operation(2, "notice", key, kind=kind, event=event, bucket=bucket))

    for key in ("customers/000004.json", "customers/000004.json", "products/000000.csv", "orders/000002.parquet"):
        notice(key, created, "an event that comes again")
    notice("customers/000001.json", created, "out of order: created, after the delete")
    notice("orders/000001.parquet", created, "out of order: created, after the delete")
    notice("orders/000003.parquet", removed, "out of order: removed, but the object exists")
    notice("customers/000003.json", removed, "out of order: removed, but the object exists")
    notice("customers/never-was.json", created, "an object that never existed")
    notice("customers/000000.json", created, "another owner's bucket", "somebody-elses")
    for body in (b'{"Records": [{"eventSource": "aws:s3", "eventName": "Obj', b'{"hello": "world"}'):
        writer.done.append(Operation(2, "message", "", body, "not a notification"))


def _third_wave(writer: _Writer, files: int) -> None:
    for number in range(files):
        rows = [writer.customer(PERSON, deleted=False), writer.customer()] if number % 2 else [writer.customer()]
        writer.put(f"customers/late-{number:04d}.json", _lines(rows), "a late file, of a forgotten person too")


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()
