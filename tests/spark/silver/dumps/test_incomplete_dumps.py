"""Full dumps whose files are written again under their keys, as of each reading of a file."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tidegate.platform.silver.audit.key_rows import KeyRows
from tidegate.platform.silver.dumps.incomplete_dumps import incomplete_dumps
from tidegate.platform.silver.pending_merge import merge_state
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
TABLE = {"name": "items", "prefix": "items/", "format": "json", "columns": {"sku": "string", "day": "int"}}
SILVER = {"from": "snapshots", "keys": ["sku"], "order": "day", "every": 10}


@dataclass(frozen=True)
class Reading:
    """What a batch found under a key.

    Attributes:
        days: of its rows in bronze.
        bad_rows: number of rows in quarantine. None if that is the whole file.
    """

    n: int
    key: str
    etag: str
    days: frozenset[int]
    bad_rows: int | None


@dataclass(frozen=True)
class RecordedLedger:
    """A ledger of which only the rows are read."""

    recorded: Any

    def rows(self, version: int) -> Any:
        return self.recorded


def _readings(chance: random.Random, batches: int) -> Iterator[Reading]:
    """Yield readings of keys that are written again with rows of the same day, of a later one, or of several."""
    bytes_of: dict[str, str] = {}
    for n in range(1, batches + 1):
        for key in chance.sample([f"items/{name}.json" for name in "abcdefgh"], chance.randint(1, 2)):
            whole = chance.random() < 0.25
            same = whole and key in bytes_of and chance.random() < 0.3
            etag = bytes_of[key] if same else f"{key}-{n}"
            if whole:
                bytes_of[key] = etag
            else:
                bytes_of.pop(key, None)
            near = n // 2 + 1
            days = frozenset() if whole else frozenset(chance.sample(range(near, near + 3), chance.randint(1, 2)))
            yield Reading(n, key, etag, days, None if whole else chance.choice((0, 0, 0, 1, 2)))


def _expected(readings: list[Reading], upto: int) -> dict[int, set[str]]:
    """Return the days that imply no deletes as of a batch, with the keys whose rows are in quarantine."""
    known = [reading for reading in readings if reading.n <= upto]
    found: dict[int, set[str]] = {}
    filled = sorted({reading.n for reading in known if reading.days})
    for key in {reading.key for reading in known}:
        of_key = [reading for reading in known if reading.key == key]
        days = {day for reading in of_key for day in reading.days}
        for day in days:
            if [reading.bad_rows for reading in of_key if day in reading.days][-1]:
                found.setdefault(day, set()).add(key)
        if of_key[-1].bad_rows is not None:
            continue
        n = min(reading.n for reading in of_key if reading.etag == of_key[-1].etag)
        near = [n] if n in filled else [*[m for m in filled if m < n][-1:], *[m for m in filled if m > n][:1]]
        for day in {day for reading in known if reading.n in near for day in reading.days} - days:
            found.setdefault(day, set()).add(key)
    return found


def test_what_is_in_quarantine_is_of_a_reading_of_a_file(tidegate_lake: MakeLake, kit: Any, soak: bool) -> None:
    """A producer overwrites its file with each dump. Then generated overwrites are compared with an oracle."""
    lake = tidegate_lake([{**TABLE, "silver": {**SILVER, "stored_as": "scd2"}}])

    def dump(day: int, skus: str) -> str:
        return str(kit.lines(*({"sku": sku, "day": day} for sku in skus)))

    def put(body: str) -> None:
        lake.put("items/all.json", body)
        kit.run(lake, "items")

    put(dump(1, "abc") + dump(2, "ac"))
    # The bad row is of day 3 only: day 2 deletes b as before.
    put(dump(3, "a") + '{"sku": "c", "day":')
    named = [text.split(",")[0] for text in kit.merge(lake, "items").incomplete_dumps]
    assert named == ["the dump 3 deletes nothing in silver.items"]
    # No day of this file is known, but days 1 to 3 have rows of its key.
    put("no line of this is JSON")
    # A clean dump under the key does not show whether day 3 had c.
    put(dump(5, "ac"))
    result = kit.merge(lake, "items")
    assert (result.batches, result.why_full, result.incomplete_dumps) == (2, None, ())
    lives = [tuple(row) for row in lake.sql("SELECT sku, valid_from, valid_to FROM silver.items ORDER BY sku")]
    assert lives == [("a", 1, None), ("b", 1, 2), ("c", 1, None)]
    for seed in range(194, 204 if soak else 195):
        _generated_overwrites(lake, seed, (90, 77, 55) if soak else (77,))


def _generated_overwrites(lake: TestLake, seed: int, batches: Iterable[int]) -> None:
    """Compare as of each of some batches. Of those that come later, nothing counts."""
    spec = lake.spec("items")
    work = merge_state(lake.lake, spec)
    assert work is not None
    assert work.table.birth is not None
    rules, session = KeyRows.from_lake(lake.lake, work).rules, lake.lake.delta.session
    readings = list(_readings(random.Random(seed), 90))
    ledger = pa.Table.from_pylist(
        [
            {"kind": "row", "n": reading.n, "position": place, "key": reading.key, "etag": reading.etag,
             "status": "quarantined" if reading.bad_rows is None else "committed", "bad_rows": reading.bad_rows}
            for place, reading in enumerate(readings)
        ]
    )  # fmt: skip
    rows = pa.Table.from_pylist(
        [
            {"sku": "a", "day": day, "_source_path": f"s3://{lake.bucket}/{reading.key}", "_batch": reading.n}
            for reading in readings
            for day in sorted(reading.days)
        ]
    )
    location = lake.lake.store.uri("silver", f"generated_{seed}")
    session.createDataFrame(rows).selectExpr("sku", "CAST(day AS INT) AS day", "_source_path", "_batch").write.format(
        "delta"
    ).save(location)
    table = replace(
        work.table,
        birth=replace(work.table.birth, location=location),
        ledger=RecordedLedger(session.createDataFrame(ledger).cache()),  # type: ignore[arg-type]
    )
    generated = replace(work, table=table)
    for upto in batches:
        expected = _expected(readings, upto)
        found = incomplete_dumps(session, generated, rules, upto)
        shown = {int(entry.order.split(":")[1].strip('"} ')): entry.files for entry in found}
        assert shown == {day: len(keys) for day, keys in expected.items()}, (seed, upto)
