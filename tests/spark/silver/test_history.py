"""Histories: after every merge, in every mode, silver is what a replay of all changes gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support.lakes.seams import dying_in
from tidegate.platform.core.config.silver_columns import own_columns, silver_query
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.lake.spark.results import Merging
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.reset import reset_table
from tidegate.platform.silver import changes as silver_changes
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.silver.history_merge import build_history_merge
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]
SAME = "the same as before"
#: At which seams a merge dies before it succeeds, by the number of its batch.
DEATHS = {0: ["silver-create", "silver-gather"], 1: ["silver-truncate", "silver-merge"]}
COLUMNS = {
    "id": "int",
    "at": "int",
    "seq": "int",
    "op": "string",
    "a": "int",
    "b": "string",
    "c": "int",
    "noise": "int",
}
PLAIN = {
    "stored_as": "scd2",
    "keys": ["id"],
    "order": "at",
    "apply_as_deletes": "op = 'd'",
    "except_columns": ["op", "seq"],
    "track_history_except_columns": ["noise"],
    "every": 10,
}
#: Order of two columns, rows that leave values as they are, and truncates.
RICH = {
    **PLAIN,
    "order": ["at", "seq"],
    "apply_as_truncates": "op = 't'",
    "skip_when": "op = 'x'",
    "ignore_null_updates_columns": ["a"],
    "unavailable": SAME,
    "except_columns": ["op", "at", "seq"],
}


def _changes(chance: random.Random, batches: int, rows: int) -> list[list[Row]]:
    """Return batches of changes with late rows, ties, deletes, repeated values and nulls, and a few truncates."""

    def row(number: int) -> Row:
        return {
            "id": chance.choice([None, 1, 2, 3]),
            "at": chance.choice([None, *range(1, 14)]),
            "seq": chance.choice([None, 1, 2]),
            "op": chance.choices(["u", "d", "t", "x"], [30, 4, 1, 1])[0],
            "a": chance.choice([None, 1, 2]),
            "b": chance.choice([None, SAME, "p", "q"]),
            "c": chance.choice([1, 1, 1, 2]),
            "noise": number,
        }

    return [[row(batch * rows + number) for number in range(rows)] for batch in range(batches)]


def _order(row: Row, silver: Row) -> tuple[tuple[bool, int], ...]:
    names = ["at", "seq"] if silver is RICH else ["at"]
    return tuple((row[name] is not None, row[name] or 0) for name in names)


def _bound(order: tuple[tuple[bool, int], ...] | None, silver: Row) -> Any:
    if order is None:
        return None
    values = [value if is_given else None for is_given, value in order]
    return {"at": values[0], "seq": values[1]} if silver is RICH else values[0]


def _replayed(changes: Sequence[Row], silver: Row) -> list[Row]:
    """Return the history that the view shows, from all changes in the order in which they came."""
    ops = "ud" if silver is RICH else "udtx"
    truncates = sorted({_order(row, silver) for row in changes if silver is RICH and row["op"] == "t"})
    left = {"a": None, "b": SAME} if silver is RICH else {}
    shown: list[Row] = []
    for key in {row["id"] for row in changes if row["op"] in ops}:
        newest: dict[Any, Row] = {}
        for row in changes:
            if row["id"] == key and row["op"] in ops:
                at = _order(row, silver)
                given = {name: row[name] for name in "abc" if name not in left or row[name] != left[name]}
                newest[at] = {**row, "given": {**newest.get(at, {}).get("given", {}), **given}}
        ordered = sorted(newest.items())
        before: Row | None = None  # values of the change before, in the same life
        for place, (at, row) in enumerate(ordered):
            ends = [truncate for truncate in truncates if truncate > at][:1]
            ends += [ordered[place + 1][0]] if place + 1 < len(ordered) else []
            if place and any(ordered[place - 1][0] < truncate <= at for truncate in truncates):
                before = None
            values = {name: row["given"].get(name, (before or {}).get(name)) for name in "abc"}
            if row["op"] == "d":
                before = None
                continue
            until = _bound(min(ends), silver) if ends else None
            now = {"id": key, **values, "noise": row["noise"], "valid_to": until, "is_current": not ends}
            if silver is PLAIN:
                now["at"] = row["at"]
            if before is not None and all(before[name] == values[name] for name in "abc"):
                shown[-1] = {**now, "valid_from": shown[-1]["valid_from"]}
            else:
                shown.append({**now, "valid_from": _bound(at, silver)})
            before = values
    return shown


def _sorted(rows: Sequence[Row]) -> list[Any]:
    return sorted((sorted(row.items()) for row in rows), key=repr)


def _table(lake: TestLake, name: str) -> list[Any]:
    return _sorted([row.asDict(recursive=True) for row in lake.sql(f"SELECT * FROM silver.{name}")])


def _shown(lake: TestLake, kit: Any, table: TableSpec) -> list[Any]:
    """Return what the view of a silver table would show. A second silver table of a bronze table has no view."""
    query = silver_query("{t}", own_columns(table.silver))
    found = kit.query(lake, query, t=lake.lake.store.uri("silver", table.name))
    return _sorted([row.asDict(recursive=True) for row in found])


def test_every_merge_of_a_history_gives_what_a_replay_gives(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In steps, by the keyed merge and by Delta's MERGE in turn, with a death at each seam; and all in one merge.

    The tables of both options are of one bronze table.
    """
    lake = tidegate_lake([{"name": "plain", "prefix": "plain/", "format": "json", "columns": COLUMNS, "silver": PLAIN}])
    tables = ((lake.spec("plain"), PLAIN), (kit.second(lake, "plain", "rich", RICH), RICH))
    batches = _changes(random.Random(2), 4, 20)
    for number, batch in enumerate(batches):
        lake.put(f"plain/{number}.json", kit.lines(*batch))
        kit.run(lake, "plain")
        changes = [row for rows in batches[: number + 1] for row in rows]
        for table, silver in tables:
            with monkeypatch.context() as patched:
                if number % 2:
                    patched.setattr(silver_merge, "build_history_merge", _by_delta)
                for seam in DEATHS.get(number, ()):
                    with dying_in(silver_merge, seam):
                        silver_merge.merge_table(lake.lake, table)
                merged = silver_merge.merge_table(lake.lake, table)
            if number == 1:
                assert merged is None, "the commit has the mark"
            else:
                assert merged is not None
                assert merged.skipped == (sum(row["op"] == "x" for row in batch) if silver is RICH else 0)
                if number == 2:
                    old = [row for rows in batches[:number] for row in rows]
                    assert (merged.late, merged.tied) == _disorder(old, batch, silver)
            assert _shown(lake, kit, table) == _sorted(_replayed(changes, silver)), (table.name, number)
    for table, silver in tables:
        _check_equals_bronze(lake, table)
        once = kit.second(lake, "plain", f"{table.name}_once", silver)
        silver_merge.merge_table(lake.lake, once)
        assert _shown(lake, kit, once) == _sorted(_replayed(changes, silver)), once.name


def _check_equals_bronze(lake: TestLake, table: TableSpec) -> None:
    found = compare(lake.lake, table)
    assert found is not None
    assert (found.keys > 0, found.suspects, found.wrong) == (True, 0, ())


def _disorder(old: Sequence[Row], new: Sequence[Row], silver: Row) -> tuple[int, int]:
    """Return how many new changes are older than an old one of their key, and how many have the order of another."""
    ops = "ud" if silver is RICH else "udtx"

    def orders(rows: Sequence[Row]) -> Counter[Any]:
        return Counter((row["id"], _order(row, silver)) for row in rows if row["op"] in ops)

    before, now = orders(old), orders(new)
    late = sum(any(key == known and at < newer for known, newer in before) for key, at in now)
    return late, sum(count > 1 or change in before for change, count in now.items())


def _by_delta(*given: Any, **options: Any) -> Merging:
    return replace(build_history_merge(*given, **options), newer=None)


def test_a_history_after_a_rebuild_a_reset_and_a_removal_is_what_a_replay_gives(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake(
        [
            {"name": "loaded", "prefix": "loaded/", "format": "json", "columns": COLUMNS, "silver": RICH},
            {"name": "exact", "prefix": "exact/", "silver": {**PLAIN, "on_removed": "full"}},
        ]
    )
    first, second, third = _changes(random.Random(3), 3, 15)
    for name, batch in (("0", first), ("1", second)):
        lake.put(f"loaded/{name}.json", kit.lines(*batch))
        lake.put(f"exact/{name}.parquet", kit.parquet(batch))
        for table in ("loaded", "exact"):
            kit.run(lake, table)
            kit.merge(lake, table)
    lake.put("loaded/0.json", kit.lines(*third))
    rebuild_table(lake.lake, lake.key("loaded"), by="test")
    kit.run(lake, "loaded", listing=False)
    assert "replaced in bronze" in (kit.merge(lake, "loaded").why_full or "")
    rebuilt = _bronze(lake, kit)
    assert _table(lake, "loaded") == _sorted(_replayed(rebuilt, RICH))

    # The rows of the old bronze stay, and are older than all rows that come now.
    lake.delete("loaded/1.json")
    reset_table(lake.lake, lake.key("loaded"), by="test", accept_loss=True)
    kit.run(lake, "loaded", listing=False)
    assert "nothing of this bronze table" in (kit.merge(lake, "loaded").why_full or "")
    assert _table(lake, "loaded") == _sorted(_replayed([*rebuilt, *_bronze(lake, kit)], RICH))
    _check_equals_bronze(lake, lake.spec("loaded"))

    lake.delete("exact/0.parquet")
    kit.run(lake, "exact")
    assert "removed" in (kit.merge(lake, "exact").why_full or "")
    assert _table(lake, "exact") == _sorted(_replayed(second, PLAIN))
    _check_equals_bronze(lake, lake.spec("exact"))


def test_a_first_merge_in_steps_is_what_a_replay_gives(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of files that were read again or removed before it, after a death, and after a reset. No step reads all rows."""
    for name in ("_MAX_FIRST_BATCHES", "_MAX_LEDGER_BATCHES", "_MAX_BATCHES"):
        monkeypatch.setattr(silver_changes, name, 1)
    lake = tidegate_lake(
        [
            {"name": "loaded", "prefix": "loaded/", "format": "json", "columns": COLUMNS, "silver": RICH},
            {
                "name": "exact",
                "prefix": "exact/",
                "silver": {"keys": ["id"], "order": "at", "every": 10, "on_removed": "full"},
            },
        ]
    )
    first, second, third = _changes(random.Random(4), 3, 15)
    for name, batch in (("0", first), ("1", second)):
        lake.put(f"loaded/{name}.json", kit.lines(*batch))
        kit.run(lake, "loaded")
    lake.put("loaded/0.json", kit.lines(*third))
    rebuild_table(lake.lake, lake.key("loaded"), by="test")
    kit.run(lake, "loaded", listing=False)
    with dying_in(silver_merge, "silver-merge"):
        kit.merge(lake, "loaded")
    log = _merged(lake, "loaded")
    assert log == ["merging batches 2..2 of 3", "merging batches 3..3"], "the mark of the first step is kept"
    rebuilt = _bronze(lake, kit)
    assert _table(lake, "loaded") == _sorted(_replayed(rebuilt, RICH))

    reset_table(lake.lake, lake.key("loaded"), by="test", accept_loss=True)
    kit.run(lake, "loaded", listing=False)
    lake.put("loaded/2.json", kit.lines(*second))
    kit.run(lake, "loaded")
    log = _merged(lake, "loaded")
    assert log[0] == "merging batches 1..1 of 2"
    assert "nothing of this bronze table" in log[1]
    assert log[2:] == ["merging batches 2..2"]
    assert _table(lake, "loaded") == _sorted(_replayed([*rebuilt, *_bronze(lake, kit)], RICH))

    # Of rows that were removed, nothing comes into silver. A file that came again belongs to its last batch.
    for name, at in (("0", 1), ("1", 2), ("0", 3)):
        lake.put(f"exact/{name}.parquet", kit.parquet([{"id": 1, "at": at}, {"id": 10 + at, "at": at}]))
        if at == 2:
            lake.delete("exact/0.parquet")
        kit.run(lake, "exact")
    with dying_in(silver_merge, "silver-merge"):
        kit.merge(lake, "exact")
    in_silver = kit.query(lake, "SELECT id FROM {t}", t=lake.lake.store.uri("silver", "exact"))
    assert in_silver == [], "the only file of the first batch came again in the last one"
    log = _merged(lake, "exact")
    assert [line for line in log if "full" not in line] == ["merging batches 2..2 of 3", "merging batches 3..3"]
    rows = lake.sql("SELECT id, at, _changed_batch FROM silver.exact_with_tombstones ORDER BY id")
    assert [tuple(row) for row in rows] == [(1, 3, 3), (12, 2, 2), (13, 3, 3)]


def _merged(lake: TestLake, table: str) -> list[str]:
    """Merge what waits. Returns the lines of the log."""
    log: list[str] = []
    assert silver_merge.merge_table(lake.lake, lake.spec(table), log.append) is not None
    return log


def _bronze(lake: TestLake, kit: Any) -> list[Row]:
    """Return the rows of bronze in the order in which they came."""
    query = f"SELECT {', '.join(COLUMNS)} FROM {{t}} ORDER BY _batch, _source_path, noise"
    return [row.asDict() for row in kit.query(lake, query, t=kit.location(lake, "loaded"))]


def test_options_of_a_history_do_not_change(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "format": "json", "columns": COLUMNS, "silver": PLAIN}])
    change = {"id": 1, "at": 1, "seq": 1, "op": "u", "a": 1, "b": "p", "c": 1, "noise": 1}
    lake.put("items/1.json", kit.lines(change))
    kit.run(lake, "items")
    shown = kit.metadata(lake.materialize("silver/items"))
    assert (shown["inserted"], shown["dagster/row_count"]) == (1, 1)
    lake.put("items/2.json", kit.lines({**change, "at": 2, "noise": 2}, {**change, "at": 3, "op": "d"}))
    kit.run(lake, "items")
    spec = lake.spec("items")
    assert spec.silver is not None
    by_seq = {"order": ("seq",), "except_columns": ("op",)}
    for options, problem in (
        (by_seq, r"`order` of `silver` in lake.yaml has changed from at to seq, .*run `tidegate rebuild silver.items"),
        ({"stored_as": "scd1"}, r"`stored_as` of `silver` in lake.yaml has changed from scd2 to nothing"),
        ({"order": ("at", "seq")}, r"`order` of `silver` in lake.yaml has changed from at to at, seq, and the rows"),
        (
            {"track_history_except_columns": ()},
            r"`track_history_except_columns` of `silver` in lake.yaml has changed from noise to nothing, and the rows",
        ),
    ):
        changed = spec.model_copy(update={"silver": spec.silver.model_copy(update=options)})
        with pytest.raises(ValueError, match=problem):
            silver_merge.merge_table(lake.lake, changed)
    shown = kit.metadata(lake.materialize("silver/items"))
    assert (shown["inserted"], shown["updated"], shown["dagster/row_count"]) == (2, 1, 1)
    (row,) = lake.sql("SELECT valid_from, valid_to, is_current, noise FROM silver.items")
    assert tuple(row) == (1, 3, False, 2)
    # All rows have `seq` 1, so by this order there is one change, and a rebuild leaves no row of the other order.
    changed = spec.model_copy(update={"silver": spec.silver.model_copy(update=by_seq)})
    silver_merge.rebuild_table(lake.lake, changed)
    every = kit.query(lake, "SELECT * EXCEPT (_changed_at) FROM {t}", t=lake.lake.store.uri("silver", "items"))
    assert [(row["at"], row["valid_from"], row["valid_to"], row["_deleted"]) for row in every] == [(3, 1, None, True)]
