"""A rebuild from a batch gives the table that is built from nothing, whatever is wrong in the keys since that batch.

Each key has a random history of its own, so each table has a hundred small cases.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import yaml
from pyspark.sql import functions as F

from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.silver.merge import merge_table, rebuild_table
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]
SEED = 20261126
KEYS = range(100)
COLUMNS = {"id": "int", "at": "int", "v": "string", "w": "string", "op": "string"}
CHANGES = {
    "keys": ["id"],
    "order": "at",
    "apply_as_deletes": "op = 'd'",
    "skip_when": "op = 'x'",
    "ignore_null_updates_columns": ["w"],
    "every": 10,
}
DUMPED = {"id": "int", "at": "int", "v": "string"}
DUMPS = {"from": "snapshots", "keys": ["id"], "order": "at", "every": 10}


def _csv(chance: random.Random, rows: int, *more: str) -> str:
    """Return changes: inserts, updates and deletes, early and late, and of equal orders."""

    def line() -> str:
        at, w = chance.choice(["", *range(1, 10)]), chance.choice(["", "p", "q"])
        return f"{chance.choice(KEYS)},{at},{chance.choice('abc')},{w},{chance.choices('udx', [6, 2, 1])[0]}"

    return "\n".join([",".join(COLUMNS), *(line() for _ in range(rows)), *more, ""])


def _dump(chance: random.Random, number: int, keys: Sequence[int] = KEYS) -> list[Row]:
    return [{"id": key, "at": number, "v": chance.choice("ab")} for key in keys if chance.random() < 0.6]


def _both(lake: TestLake, kit: Any, *specs: TableSpec) -> list[list[str]]:
    """Return the rows of two silver tables, tombstones included, without the time of the merge."""
    text, other = (lake.lake.store.uri("silver", spec.name) for spec in specs)
    rows = "SELECT {place} AS place, * EXCEPT (_changed_at) FROM {{{table}}}"
    query = " UNION ALL ".join(rows.format(place=place, table=table) for place, table in enumerate(("one", "other")))
    found = [row.asDict(recursive=True) for row in kit.query(lake, query, one=text, other=other)]
    return [
        sorted(repr({**row, "place": None}) for row in found if row["place"] == place) for place in range(len(specs))
    ]


def _damage(lake: TestLake, kit: Any, spec: TableSpec, since: int) -> None:
    """Delete and change rows of silver whose key has a change since a batch. Add keys that bronze lacks."""
    session, location = lake.lake.delta.session, lake.lake.store.uri("silver", spec.name)
    bronze = session.read.format("delta").load(kit.location(lake, spec.name.partition("_")[0]))
    changes = bronze.where("op <> 'x'") if "op" in bronze.columns else bronze
    keys = changes.where(f"_batch >= {since}").selectExpr("id AS chosen").distinct()
    rows = session.read.format("delta").load(location)
    own = rows.columns
    fate = "CASE WHEN chosen IS NULL THEN 'stays' ELSE element_at(array('gone', 'wrong', 'stays'), 1 + id % 3) END"
    joined = rows.join(keys, rows["id"] == keys["chosen"], "left").withColumn("fate", F.expr(fate))
    kept = joined.where("fate <> 'gone'").withColumn("v", F.expr("if(fate = 'wrong', 'damaged', v)")).select(own)
    extra = rows.limit(9).withColumns({"id": F.col("id") + 1000, "_changed_batch": F.lit(since).cast("bigint")})
    kept.unionByName(extra).write.format("delta").mode("overwrite").save(location)


def _redrive_without_some_rows(lake: TestLake) -> None:
    """Redrive the files of the table `changes` with bad rows. Lines that begin with 9 are comments now."""
    body = yaml.safe_load(lake.path.read_text())
    next(each for each in body["tables"] if each["name"] == "changes")["csv"] = {"comment": "9"}
    lake.path.write_text(yaml.safe_dump(body))
    lake.config = lake.lake.config = load_lake(lake.path)
    key, choice = lake.key("changes"), Choice(key="changes/*")
    redrive_objects(lake.lake, key, quarantined_objects(lake.lake, key, choice), RedriveRequest("test", choice))


def test_a_rebuild_from_a_batch_gives_what_is_built_from_nothing(tidegate_lake: MakeLake, kit: Any) -> None:
    """Newest rows and a history of changes with a redrive, and a history of full dumps. Batches wait each time."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    lake = tidegate_lake(
        [
            {"name": "changes", "prefix": "changes/", "format": "csv", "columns": COLUMNS, "silver": CHANGES},
            {"name": "dumps", "prefix": "dumps/", "format": "json", "columns": DUMPED, "silver": DUMPS},
        ]
    )
    #: Each silver table with the first batch of its rebuild.
    tables = {("changes", "scd1"): 2, ("changes", "scd2"): 3, ("dumps", "scd2"): 2}

    def stored(table: str, stored_as: str, name: str = "") -> TableSpec:
        silver = {**(CHANGES if table == "changes" else DUMPS), "stored_as": stored_as}
        found: TableSpec = kit.second(lake, table, f"{table}_{stored_as}{name}", silver)
        return found

    lake.put("changes/1.csv", _csv(chance, 60))
    lake.put("changes/redriven.csv", _csv(chance, 60, "bad,1,a,p,u"))
    # A dump comes late, two come at once, and one comes in two parts.
    lake.put("dumps/1.json", kit.lines(*_dump(chance, 1), *_dump(chance, 3)))
    kit.run(lake, "changes")
    kit.run(lake, "dumps")
    for table, stored_as in tables:
        merge_table(lake.lake, stored(table, stored_as))
    lake.put("changes/2.csv", _csv(chance, 30))
    lake.put("dumps/2.json", kit.lines(*_dump(chance, 2), *_dump(chance, 4, KEYS[:50])))
    kit.run(lake, "changes")
    kit.run(lake, "dumps")
    _redrive_without_some_rows(lake)
    kit.run(lake, "changes", listing=False)
    lake.put("dumps/3.json", kit.lines(*_dump(chance, 4, KEYS[50:]), *_dump(chance, 5)))
    kit.run(lake, "dumps")

    for (table, stored_as), since in tables.items():
        spec, from_nothing = stored(table, stored_as), stored(table, stored_as, "_from_nothing")
        merge_table(lake.lake, from_nothing)
        _damage(lake, kit, spec, since)
        rebuild_table(lake.lake, spec, since=since)
        rebuilt, right = _both(lake, kit, spec, from_nothing)
        assert rebuilt == right, (SEED, table, stored_as, since)
        assert merge_table(lake.lake, spec) is None
