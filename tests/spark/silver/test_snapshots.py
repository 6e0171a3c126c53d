"""Full dumps: what the next dump does not have is deleted, in whatever order and in how many parts dumps come."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.support.lakes.seams import dying_in
from tests.support.tracked import ROOT
from tidegate.platform.lake.spark.results import Merging
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.silver.audit.key_history import key_history
from tidegate.platform.silver.history_merge import build_history_merge
from tidegate.platform.silver.merge_sql import build_merge
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]
#: Values by key, by the number of the dump.
Dumps = dict[int, dict[int, str]]
#: The value of rows that do not enter silver. The key's older row stays.
DROPPED = "x"
#: The key of a row that is in quarantine first.
REPAIRED = 7
#: The key has a name that a query of the next dump may have, too.
COLUMNS = {"at": "int", "dump": "int", "v": "string"}


def _dumps(chance: random.Random) -> Dumps:
    def value(dump: int) -> str:
        # This dump comes in two parts. A row that is left out of the second one does not bring its key back.
        return chance.choice("ab" if dump == 4 else f"ab{DROPPED}")

    return {
        dump: {key: value(dump) for key in (1, 2, 3, 4) if chance.random() < 0.6} or {9: "a"} for dump in range(1, 7)
    }


def _newest(dumps: Mapping[int, Mapping[int, str]], incomplete: Collection[int]) -> list[Row]:
    found = []
    for key in sorted({key for dump in dumps.values() for key in dump}):
        now: Row | None = None
        for dump, values in sorted(dumps.items()):
            is_unknown = key not in values and dump in incomplete
            if values.get(key) != DROPPED and not is_unknown:
                now = {"at": key, "dump": dump, "v": values[key]} if key in values else None
        found += [now] if now else []
    return found


def _history(dumps: Mapping[int, Mapping[int, str]], incomplete: Collection[int]) -> list[Row]:
    rows: list[Row] = []
    for key in sorted({key for dump in dumps.values() for key in dump}):
        now: Row | None = None
        for dump, values in sorted(dumps.items()):
            v = values.get(key)
            if v == DROPPED or (v is None and dump in incomplete):
                continue
            if now is not None and v != now["v"]:
                rows.append({**now, "valid_to": dump})
                now = None
            if v is not None:
                now = {"at": key, "v": v, "valid_from": now["valid_from"] if now else dump}
        if now is not None:
            rows.append({**now, "valid_to": None})
    return sorted(rows, key=lambda row: (row["at"], row["valid_from"]))


def _by_delta(build: Callable[..., Merging]) -> Callable[..., Merging]:
    return lambda *given, **options: replace(build(*given, **options), newer=None)


def test_dumps_give_the_newest_dump_and_the_history_of_all(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump comes late, two come at once, and one comes in two parts. Each other merge is Delta's MERGE.

    The second part has a row that goes into quarantine, and is written again.
    """
    silver = {"from": "snapshots", "keys": ["at"], "order": "dump", "on_tie": "fail", "every": 10}
    silver["expect_or_drop"] = {"known": f"v <> '{DROPPED}'"}
    kept = {**silver, "stored_as": "scd2", "keys": ["(at + 0)"]}
    bronze = {"name": "history", "prefix": "dumps/", "format": "json", "columns": COLUMNS}
    lake = tidegate_lake([{**bronze, "silver": kept}])
    history = lake.spec("history")
    newest = kit.second(lake, "history", "newest", silver)
    dumps = _dumps(random.Random(74))
    parts: list[Dumps] = [{1: dumps[1], 3: dumps[3]}, {2: dumps[2]}, {4: {}}, {4: {}, 5: dumps[5], 6: dumps[6]}]
    for place, (key, v) in enumerate(dumps[4].items()):
        parts[2 + place % 2][4][key] = v
    parts.append({4: {**parts[3][4], REPAIRED: "a"}})
    come: Dumps = {}
    for number, part in enumerate(parts):
        incomplete = {4} if number == 3 else set()
        for dump, values in part.items():
            come.setdefault(dump, {}).update(values)
            body = kit.lines(*({"at": key, "dump": dump, "v": v} for key, v in values.items()))
            bad = f'{{"at": {REPAIRED}, "dump": ' if dump in incomplete else ""
            lake.put(f"dumps/{min(number, 3)}-{dump}.json", body + bad)
        kit.run(lake, "history")
        for table in (newest, history):
            with monkeypatch.context() as patched:
                if number % 2:
                    for build in (build_merge, build_history_merge):
                        patched.setattr(silver_merge, build.__name__, _by_delta(build))
                merged = silver_merge.merge_table(lake.lake, table)
            assert merged is not None
            said = [text.partition(" in silver")[0] for text in merged.incomplete_dumps]
            assert said == [f"the dump {dump} deletes nothing" for dump in incomplete]
            if incomplete:
                found = compare(lake.lake, table)
                assert found is not None
                assert (found.keys > 0, found.suspects, found.wrong) == (True, 0, ()), (number, table.name)
        rows = [tuple(row.values()) for row in _newest(come, incomplete)]
        assert kit.silver(lake, "newest", "at, dump, v") == rows, number
        shown = [
            row.asDict()
            for row in lake.sql("SELECT at, v, valid_from, valid_to FROM silver.history ORDER BY at, valid_from")
        ]
        assert shown == _history(come, incomplete), number


def test_a_dump_counts_when_its_signal_is_there_and_an_empty_dump_deletes_nothing(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    table = {
        "name": "items",
        "prefix": "items/",
        "format": "json",
        "columns": {"sku": "string"},
        "partition_columns": {"day": "int"},
        "completion": "_SUCCESS",
        "silver": {"from": "snapshots", "keys": ["sku"], "order": "day", "every": 10},
    }
    lake = tidegate_lake([table, _exported()])
    # Exports of Aurora: their ids are before the table, and next to the database are files that are not rows.
    for day, skus in ((24, "ab"), (25, "b")):
        export = f"products/e-2026-11-{day}"
        lake.put(f"{export}/export_info_e-2026-11-{day}.json", '{"status": "COMPLETE"}')
        lake.put(f"{export}/shop/shop.products/1/part-00000-x.gz.parquet", kit.parquet([{"sku": sku} for sku in skus]))
        lake.put(f"{export}/shop/shop.products/1/_SUCCESS", b"")
    kit.run(lake, "products")
    merged = kit.merge(lake, "products")
    assert (merged.volume["rows"], merged.incomplete_dumps) == (3, ())
    assert kit.silver(lake, "products", "sku") == [("b",)]

    def put(day: int, *parts: str, signal: bool = True) -> None:
        for number, skus in enumerate(parts):
            lake.put(f"items/day={day}/part-{number}.json", kit.lines(*({"sku": sku} for sku in skus)))
        if signal:
            lake.put(f"items/day={day}/_SUCCESS", b"")
        kit.run(lake, "items")

    def shown() -> str:
        kit.merge(lake, "items")
        return "".join(sku for (sku,) in kit.silver(lake, "items", "sku"))

    put(1, "ab", "c")
    assert shown() == "abc"
    put(2, "a", signal=False)
    assert shown() == "abc", "of a dump that is not complete, no key is gone"
    (note,) = key_history(lake.lake, lake.spec("items"), ["sku=b"]).notes
    assert note.startswith("a dump is not complete: 1 files or signals wait, so its rows are not in bronze and it dele")
    assert "(items/day=2/part-0.json: " in note
    put(3, "")
    assert shown() == "abc", "a dump without rows is not seen"
    put(2)
    with dying_in(silver_merge, "silver-gather"):
        kit.merge(lake, "items")
    assert shown() == "a"
    put(4, "ad")
    assert shown() == "ad"


def _exported() -> Row:
    """Return the table of exports as the guide has it."""
    text = (ROOT / "docs" / "guides" / "snapshots.md").read_text().split("## Exports of Aurora and RDS\n", 1)[1]
    (table,) = yaml.safe_load(text.split("```yaml\n", 1)[1].split("```", 1)[0])["tables"]
    return {**table, "prefix": "products/"}


def test_a_dump_without_a_file_that_is_in_quarantine_deletes_nothing(tidegate_lake: MakeLake, kit: Any) -> None:
    table = {
        "name": "items",
        "prefix": "items/",
        "format": "json",
        "columns": {"sku": "string"},
        "partition_columns": {"day": "int"},
        "silver": {"from": "snapshots", "keys": ["sku"], "order": "day", "every": 10},
    }
    flat = {**table, "name": "flat", "prefix": "flat/", "columns": {"sku": "string", "day": "int"}}
    del flat["partition_columns"]
    lake = tidegate_lake([table, flat])
    for day, skus in ((1, "abc"), (2, "a")):
        lake.put(f"items/day={day}/1.json", kit.lines(*({"sku": sku} for sku in skus)))
        if day == 2:
            lake.put("items/day=2/2.json.gz", b"this is no gzip")
        kit.run(lake, "items")
    metadata = kit.metadata(lake.materialize("silver/items"))
    sentence = (
        f"the dump 2 deletes nothing in silver.items, as 1 file (s3://{lake.bucket}/items/day=2/2.json.gz) went into "
        "quarantine, the last in batch 2. Write the files again, or correct lake.yaml and run `tidegate redrive items "
        "--yes`, or wait for the next dump"
    )
    assert metadata["incomplete_dumps"] == [sentence]
    assert kit.silver(lake, "items", "sku, day") == [("a", 2), ("b", 1), ("c", 1)]
    notes = {sku: key_history(lake.lake, lake.spec("items"), [f"sku={sku}"]).notes for sku in "ab"}
    assert notes == {"a": (), "b": (sentence,)}, "the dump has a"
    # The file is repaired. The redrive makes the dump whole, and it deletes what it does not have.
    lake.put("items/day=2/2.json.gz", gzip.compress(kit.lines({"sku": "b"}).encode()))
    table_key, choice = lake.key("items"), Choice()
    found = quarantined_objects(lake.lake, table_key, choice)
    redrive_objects(lake.lake, table_key, found, RedriveRequest("somebody", choice))
    kit.run(lake, "items", listing=False)
    assert "went into quarantine, or left it" in kit.merge(lake, "items").why_full
    assert kit.silver(lake, "items", "sku, day") == [("a", 2), ("b", 2)]

    # A key without folders shows no dump: every dump of the batch counts that quarantined the file first.
    for day, skus in ((1, "abc"), (2, "a"), (3, "a")):
        lake.put(f"flat/{day}.json", kit.lines(*({"sku": sku, "day": day} for sku in skus)))
        if day == 2:
            lake.put("flat/2.json.gz", b"this is no gzip")
        if day == 3:
            lake.intake()  # the event of the file is received after a listing found it
        kit.run(lake, "flat", listing=day < 3)
        if day > 1:
            kit.merge(lake, "flat")
            kept = [] if day == 3 else [("b", 1), ("c", 1)]
            assert kit.silver(lake, "flat", "sku, day") == [("a", day), *kept]
    assert [row["n"] for row in kit.ledger(lake, "flat") if row["key"].endswith("gz")] == [2, 3]
    # The batch of the last file of a dump has no row. The dumps of the nearest rows count.
    lake.put("flat/3.json.gz", b"this is no gzip")
    kit.run(lake, "flat")
    assert "the dump 3 deletes nothing" in kit.merge(lake, "flat").incomplete_dumps[-1]
    assert kit.silver(lake, "flat", "sku, day") == [("a", 3), ("b", 1), ("c", 1)]
    # The producer says that the file was none of a dump.
    lake.delete("flat/2.json.gz")
    lake.intake()
    kit.run(lake, "flat", listing=False)
    assert "went into quarantine, or left it" in kit.merge(lake, "flat").why_full
    assert kit.silver(lake, "flat", "sku, day") == [("a", 3)]
