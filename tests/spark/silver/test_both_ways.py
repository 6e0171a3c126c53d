"""Both ways of merging, ours and Delta's MERGE, give one table through a course of random changes and modes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.lakes.merge_ways import is_deltas_merge
from tidegate.platform.lake.spark.results import Merging
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.reset import reset_table
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.silver.merge_sql import build_merge
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]
SEED = 20261125
#: Texts that differ in a space, in case, or in how an accent is written; and days that are missing in Java's calendar.
NAMES = (None, "", " ", "a", "A", "a ", "\u00e9", "e\u0301", "a\u0000")
DAYS = (None, "1582-10-04", "1582-10-05", "1582-10-14", "0001-01-01", "9999-12-31")
#: Fields of the nested columns in each step, in a random order. Those of step 1 come back in step 5. Until then, silver
#: has fields that bronze lacks since its reset, and keeps their values, which only Delta's MERGE can do.
FIELDS = {1: "xyz", 2: "zxw", 3: "wx", 4: "x", 5: "wxyz"}
ROWS = 14


def _rows(chance: random.Random, step: int) -> list[Row]:
    def inner() -> Row | None:
        fields = random.Random(f"{SEED} {step}").sample(FIELDS[step], len(FIELDS[step]))
        return None if chance.random() < 0.2 else {name: chance.choice([None, "p", "q"]) for name in fields}

    def row(number: int) -> Row:
        # Inference needs each field in some file. Nobody else has this key.
        if number == 0:
            every = {name: "all" for name in FIELDS[step]}
            return {"ref": {"name": "every", "day": None}, "at": step, "gone": False, "info": every, "grid": [every]}
        return {
            "ref": {"name": chance.choice(NAMES), "day": chance.choice(DAYS)},
            "at": chance.choice([None, *range(step, step + 6)]),
            "gone": chance.random() < 0.2,
            "info": inner(),
            "grid": [inner() for _ in range(chance.randint(0, 2))],
        }

    return [row(number) for number in range(ROWS)]


@pytest.fixture(autouse=True)
def by_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every merge of the table `deltas` Delta's own MERGE."""

    def build(work: Any, *others: Any, **options: Any) -> Merging:
        merging = build_merge(work, *others, **options)
        return replace(merging, newer=None) if work.location.endswith("/deltas") else merging

    monkeypatch.setattr(silver_merge, "build_merge", build)


def _silver(lake: TestLake, kit: Any, *tables: str) -> list[list[str]]:
    """Return all rows of each table with tombstones and own columns, apart from the time of the merge."""
    whole = "to_json(struct(* EXCEPT (_changed_at)), map('ignoreNullFields', 'false')) AS row"
    query = " UNION ALL ".join(f"SELECT '{table}' AS silver, {whole} FROM {{{table}}}" for table in tables)
    found = kit.query(lake, query, **{table: lake.lake.store.uri("silver", table) for table in tables})
    return [
        sorted(json.dumps(json.loads(row["row"]), sort_keys=True) for row in found if row["silver"] == table)
        for table in tables
    ]


def test_both_ways_of_merging_give_one_table_from_mode_to_mode(tidegate_lake: MakeLake, kit: Any) -> None:
    """First and later merges, new and missing fields, a reset, and a rebuild of bronze."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    silver = {"keys": ["ref.name", "ref.day"], "order": "at", "delete_when": "gone", "every": 10}
    lake = tidegate_lake([{"name": "ours", "prefix": "ours/", "format": "json", "silver": silver}])
    tables = [lake.spec("ours"), kit.second(lake, "ours", "deltas")]

    def merged(
        step: int,
        why: str = "None",
        *,
        is_ours: bool,
        before_run: Callable[[], object] = lambda: None,
    ) -> None:
        lake.put(f"ours/{step}.json", kit.lines(*_rows(chance, step)))
        before_run()
        kit.run(lake, "ours")
        found = []
        for table in tables:
            done = merge_table(lake.lake, table)
            assert done is not None
            assert why in str(done.why_full), step
            found.append((done.inserted, done.updated, done.deleted))
        assert found[0] == found[1], (SEED, step)
        ours, deltas = _silver(lake, kit, *(table.name for table in tables))
        assert ours == deltas, (SEED, step)
        assert [is_deltas_merge(lake, table.name) for table in tables] == [not is_ours, step > 1], step

    def start_over() -> None:
        for step in (1, 2):
            lake.delete(f"ours/{step}.json")
        reset_table(lake.lake, lake.key("ours"), by="test", accept_loss=True)

    def read_again() -> None:
        rebuild_table(lake.lake, lake.key("ours"), by="test")

    merged(1, "nothing of this bronze table", is_ours=True)
    merged(2, is_ours=True)
    merged(3, "nothing of this bronze table", is_ours=False, before_run=start_over)
    merged(4, "replaced in bronze", is_ours=False, before_run=read_again)
    merged(5, is_ours=True)
