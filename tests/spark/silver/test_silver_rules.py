"""Rules of silver tables: random rows give the expected table by both ways of merging, however they are split."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.support.lakes.merge_ways import is_deltas_merge
from tests.support.lakes.seams import dying_in
from tidegate.platform.core.config.silver_columns import own_columns, silver_query
from tidegate.platform.lake.spark.results import Merging
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.silver.merge_sql import build_merge
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]
#: Options of silver, and what they mean: the key of a row, and its order.
RULES: dict[str, tuple[dict[str, Any], Callable[[Row], Any], Callable[[Row], tuple[Any, ...]]]] = {
    "fields": (
        {"keys": ["ref.id", "region"], "order": ["at", "ref.seq"]},
        lambda row: (row["ref"]["id"], row["region"]),
        lambda row: (row["at"], row["ref"]["seq"]),
    ),
    "expressions": (
        {"keys": ["lower(region)", "ref.id"], "order": ["coalesce(at, -1) -- absent is old", "ref.seq"]},
        lambda row: (row["region"] and row["region"].lower(), row["ref"]["id"]),
        lambda row: (-1 if row["at"] is None else row["at"], row["ref"]["seq"]),
    ),
}


def _rows(chance: random.Random) -> list[Row]:
    def row(v: int) -> Row:
        ref = {"id": chance.choice([None, 1, 2, 3]), "seq": chance.choice([None, 1, 2, 3])}
        at, region = chance.choice([None, 1, 2]), chance.choice([None, "EU", "eu"])
        return {"ref": ref, "region": region, "at": at, "gone": chance.random() < 0.2, "v": v}

    return [row(v) for v in range(40)]


def _expected(rows: list[Row], key: Callable[[Row], Any], order: Callable[[Row], tuple[Any, ...]]) -> list[Row]:
    """Return the rows that silver shows. Rows come in the order in which ties are decided."""
    newest: dict[Any, tuple[Any, Row]] = {}
    for row in rows:
        rank = tuple((part is not None, part or 0) for part in order(row))
        if key(row) not in newest or rank >= newest[key(row)][0]:
            newest[key(row)] = (rank, row)
    return sorted((row for _, row in newest.values() if not row["gone"]), key=lambda row: int(row["v"]))


def _disorder(old: list[Row], new: list[Row], rule: str) -> tuple[int, int]:
    """Return how many keys have a newest new row that is older than an old row, and how many of these are tied."""
    _, key, order = RULES[rule]

    def newest(rows: list[Row]) -> dict[Any, list[tuple[Any, ...]]]:
        ranks: dict[Any, list[tuple[Any, ...]]] = {}
        for row in rows:
            ranks.setdefault(key(row), []).append(tuple((part is not None, part or 0) for part in order(row)))
        return {name: sorted(found, reverse=True) for name, found in ranks.items()}

    before, now = newest(old), newest(new)
    late = sum(name in before and found[0] < before[name][0] for name, found in now.items())
    return late, sum(found[:1] == found[1:2] for found in now.values())


@pytest.fixture
def by_delta(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make every merge of a table Delta's own MERGE."""
    tables: set[str] = set()

    def build(work: Any, *others: Any, **options: Any) -> Merging:
        merging = build_merge(work, *others, **options)
        return replace(merging, newer=None) if work.location.rpartition("/")[2] in tables else merging

    monkeypatch.setattr(silver_merge, "build_merge", build)
    return tables.add


def test_both_ways_of_merging_give_the_expected_rows(
    tidegate_lake: MakeLake, kit: Any, by_delta: Callable[[str], None]
) -> None:
    """Each rule by each way, in silver tables of one bronze table."""
    columns = {"ref": "struct<id: int, seq: int>", "region": "string", "at": "int", "gone": "boolean", "v": "int"}
    silver = {rule: {**RULES[rule][0], "delete_when": "gone", "every": 10} for rule in RULES}
    lake = tidegate_lake(
        [{"name": "items", "prefix": "items/", "format": "json", "columns": columns, "silver": silver["fields"]}]
    )
    tables = [
        (rule, way, kit.second(lake, "items", f"{way}_{rule}", silver[rule]))
        for rule in RULES
        for way in ("ours", "deltas")
    ]
    for rule in RULES:
        by_delta(f"deltas_{rule}")
    rows = _rows(random.Random("2026 fields"))
    done = 0
    for until in (15, 30, 40):
        lake.put(f"items/{until}.json", kit.lines(*rows[done:until]))
        kit.run(lake, "items")
        for rule, way, table in tables:
            _, key, order = RULES[rule]
            merged = silver_merge.merge_table(lake.lake, table)
            assert merged is not None
            assert merged.unordered == sum(None in order(row) for row in rows[done:until]), rule
            disorder = _disorder(rows[:done], rows[done:until], rule) if way == "ours" and done else (None, None)
            assert (merged.late, merged.tied) == disorder, rule
            # An empty table takes the rows as they are, without a MERGE.
            assert is_deltas_merge(lake, table.name) == (way == "deltas" and done > 0)
            query = f"{silver_query('{t}', own_columns(table.silver))} ORDER BY v"
            found = kit.query(lake, query, t=lake.lake.store.uri("silver", table.name))
            assert [row.asDict(recursive=True) for row in found] == _expected(rows[:until], key, order), table.name
        done = until


def test_a_tie_fails_the_merge_if_its_rows_differ(tidegate_lake: MakeLake, kit: Any) -> None:
    silver = {"keys": ["id"], "order": ["at"], "on_tie": "fail", "every": 10}
    columns = {"id": "int", "at": "int", "v": "timestamp_ntz"}
    lake = tidegate_lake(
        [
            {"name": "items", "prefix": "items/", "format": "json", "columns": columns, "silver": silver},
            {"name": "first", "prefix": "first/", "format": "json", "columns": columns, "silver": silver},
        ]
    )

    def land(name: str, *rows: tuple[int, int, int], table: str = "items") -> Any:
        """Return a row has the microseconds of its value, which decide whether rows differ."""
        lines = ({"id": id, "at": at, "v": f"2026-11-25T10:00:00.{v:06}"} for id, at, v in rows)
        lake.put(f"{table}/{name}.json", kit.lines(*lines))
        kit.run(lake, table)
        return kit.merge(lake, table)

    # A first merge compares rows in the tasks that write them, and its error has the same first line.
    with pytest.raises(PySparkException, match=r"^\[USER_RAISED_EXCEPTION\] .*silver.first: two different rows have"):
        land("1", (1, 1, 1), (1, 1, 2), table="first")
    spec = lake.spec("first")
    cast = spec.silver.model_copy(update={"on_tie": "last", "derive": {"w": "id || 'x'"}, "cast": {"w": "int"}})
    with pytest.raises(PySparkException, match=r"^\[CAST_INVALID_INPUT\] .*'1x'"):
        silver_merge.merge_table(lake.lake, spec.model_copy(update={"silver": cast}))

    now = "id, date_format(v, 'SSSSSS')"
    land("1", (1, 1, 1), (1, 1, 1), (2, 1, 3), (2, 1, 4), (2, 2, 2))
    assert kit.silver(lake, "items", now) == [(1, "000001"), (2, "000002")], "older rows that differ decide nothing"
    land("2", (1, 1, 1), (2, 1, 5))
    with pytest.raises(PySparkException, match=r'silver.items: two different rows have the key .*"1".* equal `order`'):
        land("3", (1, 1, 6))
    lake.delete("items/3.json")
    with pytest.raises(PySparkException, match=r'silver.items: two different rows have the key .*"3"'):
        land("4", (3, 1, 1), (3, 1, 2))
    assert kit.silver(lake, "items", now) == [(1, "000001"), (2, "000002")]


@pytest.mark.limit(
    "Silver",
    "Another `order` is refused until `tidegate rebuild silver.<name>` has computed each row by it.",
)
def test_another_order_is_refused_until_a_rebuild_has_computed_every_row(tidegate_lake: MakeLake, kit: Any) -> None:
    silver = {"keys": ["id"], "order": ["at"], "every": 10}
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "format": "json", "silver": silver}])
    lake.put("items/1.json", kit.lines({"id": 1, "at": 2, "seq": 1, "k": 5}, {"id": 2, "at": 0, "seq": 1, "k": 6}))
    kit.run(lake, "items")
    kit.merge(lake, "items")
    lake.put("items/2.json", kit.lines({"id": 1, "at": 1, "seq": 2, "k": 6}))
    kit.run(lake, "items")
    first = lake.spec("items")
    spec = first.model_copy(update={"silver": first.silver.model_copy(update={"order": ("seq",), "keys": ("k",)})})
    refused = (
        "^silver.items: `keys` of `silver` in lake.yaml has changed from id to k; `order` of `silver` in lake.yaml has "
        "changed from at to seq, .*run `tidegate rebuild silver.items --yes`"
    )
    with pytest.raises(ValueError, match=refused):
        silver_merge.merge_table(lake.lake, spec)
    # A rebuild that dies leaves a table whose rows may be by either options: only a rebuild takes it.
    late = kit.lines({"id": 3, "at": 9, "seq": 0, "k": 6}, {"id": 4, "at": 0, "seq": 2, "k": 5})
    for seam, lands in (("silver-create", ""), ("silver-merge", late)):
        with dying_in(silver_merge, seam):
            silver_merge.rebuild_table(lake.lake, spec)
        if lands:
            lake.put("items/3.json", lands)
            kit.run(lake, "items")
        for each in (first, spec):
            with pytest.raises(ValueError, match="has begun and is not recorded as ended"):
                silver_merge.merge_table(lake.lake, each)
    silver_merge.rebuild_table(lake.lake, spec)
    assert kit.silver(lake, "items", "id, at, seq, k") == [(1, 1, 2, 6), (4, 0, 2, 5)]
    lake.put("items/4.json", kit.lines({"id": 5, "at": 9, "seq": -1, "k": 6}))
    kit.run(lake, "items")
    with pytest.raises(ValueError, match="has changed from seq to at, and"):
        silver_merge.merge_table(lake.lake, first)
    for options, problem in (
        ({"order": ("att + 1",)}, r"bronze does not fit `order` of `silver`: there is no column `att`; .*`at`"),
        (
            {"expect": {"new": "idd > 0"}},
            r"bronze does not fit `expect.new` of `silver`: there is no column `idd`; .*`id`.*in `columns`",
        ),
    ):
        wrong = spec.model_copy(update={"silver": spec.silver.model_copy(update=options)})
        with pytest.raises(ValueError, match=rf"^silver.items: {problem}"):
            silver_merge.merge_table(lake.lake, wrong)
    # An option that changes no row that is there is named by the merge, and only once.
    said: list[str] = []
    spec = spec.model_copy(update={"silver": spec.silver.model_copy(update={"on_tie": "fail"})})
    silver_merge.merge_table(lake.lake, spec, said.append)
    assert [line for line in said if "lake.yaml" in line] == [
        "`on_tie` of `silver` in lake.yaml has changed from nothing to fail; `tidegate rebuild silver.items` makes "
        "older rows so, too"
    ]
    silver_merge.rebuild_table(lake.lake, spec, said.append)
    assert sum("lake.yaml" in line for line in said) == 1
    assert kit.silver(lake, "items", "id, at, seq, k") == [(1, 1, 2, 6), (4, 0, 2, 5)]
