"""Full dumps: what the next dump does not have is deleted, in whatever order and in how many parts dumps come."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.support.lakes.seams import dying_in
from tidegate.assets.silver import merge as silver_merge
from tidegate.assets.silver.audit.comparison import compare
from tidegate.assets.silver.history_merge import build_history_merge
from tidegate.assets.silver.merge_sql import build_merge
from tidegate.platform.testing import TestLake
from tidegate.resources.spark.results import Merging

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]
#: Values by key, by the number of the dump.
Dumps = dict[int, dict[int, str]]
#: The value of rows that do not enter silver. The key's older row stays.
DROPPED = "x"
#: The key has a name that a query of the next dump may have, too.
COLUMNS = {"at": "int", "dump": "int", "v": "string"}


def _dumps(chance: random.Random) -> Dumps:
    def value(dump: int) -> str:
        # This dump comes in two parts. A row that is left out of the second one does not bring its key back.
        return chance.choice("ab" if dump == 4 else f"ab{DROPPED}")

    return {
        dump: {key: value(dump) for key in (1, 2, 3, 4) if chance.random() < 0.6} or {9: "a"} for dump in range(1, 7)
    }


def _newest(dumps: Mapping[int, Mapping[int, str]]) -> list[Row]:
    found = []
    for key in sorted({key for dump in dumps.values() for key in dump}):
        now: Row | None = None
        for dump, values in sorted(dumps.items()):
            if values.get(key) != DROPPED:
                now = {"at": key, "dump": dump, "v": values[key]} if key in values else None
        found += [now] if now else []
    return found


def _history(dumps: Mapping[int, Mapping[int, str]]) -> list[Row]:
    rows: list[Row] = []
    for key in sorted({key for dump in dumps.values() for key in dump}):
        now: Row | None = None
        for dump, values in sorted(dumps.items()):
            v = values.get(key)
            if v == DROPPED:
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
    """A dump comes late, two come at once, and one comes in two parts. Each other merge is Delta's MERGE."""
    silver = {"from": "snapshots", "keys": ["at"], "order": "dump", "on_tie": "fail", "every": 10}
    silver["expect_or_drop"] = {"known": f"v <> '{DROPPED}'"}
    tables = {"newest": silver, "history": {**silver, "stored_as": "scd2", "keys": ["(at + 0)"]}}
    lake = tidegate_lake(
        [
            {"name": name, "prefix": f"{name}/", "format": "json", "columns": COLUMNS, "silver": options}
            for name, options in tables.items()
        ]
    )
    dumps = _dumps(random.Random(74))
    parts: list[Dumps] = [{1: dumps[1], 3: dumps[3]}, {2: dumps[2]}, {4: {}}, {4: {}, 5: dumps[5], 6: dumps[6]}]
    for place, (key, v) in enumerate(dumps[4].items()):
        parts[2 + place % 2][4][key] = v
    come: Dumps = {}
    for number, part in enumerate(parts):
        for dump, values in part.items():
            come.setdefault(dump, {}).update(values)
        for name in tables:
            rows = [{"at": key, "dump": dump, "v": v} for dump, values in part.items() for key, v in values.items()]
            lake.put(f"{name}/{number}.json", kit.lines(*rows))
            kit.run(lake, name)
            with monkeypatch.context() as patched:
                if number % 2:
                    for build in (build_merge, build_history_merge):
                        patched.setattr(silver_merge, build.__name__, _by_delta(build))
                kit.merge(lake, name)
        shown = [row.asDict() for row in lake.sql("SELECT * FROM silver.newest ORDER BY at")]
        assert shown == _newest(come), number
        shown = [
            row.asDict()
            for row in lake.sql("SELECT at, v, valid_from, valid_to FROM silver.history ORDER BY at, valid_from")
        ]
        assert shown == _history(come), number
    for name in tables:
        found = compare(lake.lake, lake.spec(name))
        assert found is not None
        assert (found.keys > 0, found.suspects, found.wrong) == (True, 0, ()), name


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
    lake = tidegate_lake([table])

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
    put(3, "")
    assert shown() == "abc", "a dump without rows is not seen"
    put(2)
    with dying_in(silver_merge, "silver-gather"):
        kit.merge(lake, "items")
    assert shown() == "a"
    put(4, "ad")
    assert shown() == "ad"
