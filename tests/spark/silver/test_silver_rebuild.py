"""A rebuild of a silver table: one commit makes it, or keys of it, what bronze gives, and a kill changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import dagster as dg
import pytest
import yaml
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from pyspark.sql import functions as F

from tests.spark.conftest import Shell
from tests.support.lakes.seams import dying_in
from tidegate.platform.cli.commands.rebuild import run_rebuild
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.operations import silver_rebuild
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.silver_rebuild import rebuild_silver
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.silver.pending_merge import merge_state
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]


def test_a_rebuild_makes_silver_what_bronze_gives_in_one_commit(
    tidegate_lake: MakeLake, kit: Any, shell: Shell
) -> None:
    lake = tidegate_lake(
        [
            {
                "name": "items",
                "prefix": "items/",
                "format": "json",
                "columns": {"id": "int", "at": "int", "v": "string", "gone": "boolean"},
                "silver": {"keys": ["id"], "order": "at", "delete_when": "gone", "every": 10},
            }
        ]
    )
    shell.use(lake)
    with pytest.raises(ConfigurationError, match=r"bronze\.items has no rows yet"):
        run_rebuild(shell, "silver.items", None, None, yes=True)
    with pytest.raises(
        ConfigurationError, match=r"there is no silver table 'silver\.item': lake\.yaml has silver\.items"
    ):
        run_rebuild(shell, "silver.item", None, None, yes=False)

    def land(name: str, *rows: tuple[int, int, str, bool]) -> None:
        lake.put(f"items/{name}.json", kit.lines(*({"id": i, "at": at, "v": v, "gone": g} for i, at, v, g in rows)))
        kit.run(lake, "items")

    land("1", (1, 1, "a", False), (2, 5, "b", False), (3, 5, "", True), (4, 1, "d", False))
    kit.merge(lake, "items")
    land("2", (2, 4, "late", False), (4, 2, "newer", False))
    kit.merge(lake, "items")
    table = lake.lake.store.uri("silver", "items")
    right = kit.silver(lake, "items", "id, at, v, _changed_batch")
    assert right == [(1, 1, "a", 1), (2, 5, "b", 1), (4, 2, "newer", 2)]

    def damage() -> list[Any]:
        """Change the row of the key 1, delete those of the keys 2 and 3, and add one of a key that bronze lacks."""
        rows = lake.lake.delta.session.read.format("delta").load(table)
        changed = rows.where("id NOT IN (2, 3)").withColumns(
            {"v": F.expr("if(id = 1, 'x', v)"), "at": F.expr("if(id = 1, 90, at)")}
        )
        more = rows.where("id = 4").withColumn("id", F.lit(77))
        changed.unionByName(more).write.format("delta").mode("overwrite").save(table)
        return kit.silver(lake, "items", "id, at, v, _changed_batch")

    def version() -> int:
        return int(lake.lake.delta.table_state(table).version)

    wrong, before = damage(), version()
    # A rebuild that dies before its commit has changed nothing; after it, everything.
    for module, seam, rows in (
        (silver_rebuild, "rebuild-log", wrong),
        (silver_merge, "silver-gather", wrong),
        (silver_merge, "silver-merge", right),
    ):
        with dying_in(module, seam):
            rebuild_silver(lake.lake, "silver.items", by="test")
        assert kit.silver(lake, "items", "id, at, v, _changed_batch") == rows, seam
    assert version() == before + 1, "one commit, so no reader sees the table between"
    assert len(kit.query(lake, "SELECT * FROM {t} WHERE _deleted", t=table)) == 1, "the tombstone is there again"
    assert rebuild_silver(lake.lake, "silver.items", by="test").updated == 4, "repeated, it gives the same rows"
    assert kit.silver(lake, "items", "id, at, v, _changed_batch") == right

    # By command and by job; a batch that waits is merged with it.
    damage()
    land("3", (5, 1, "e", False))
    run_rebuild(shell, "silver.items", None, None, yes=False)
    assert "tidegate rebuild silver.items --yes" in " ".join(shell.said().split())
    run_rebuild(shell, "silver.items", None, None, yes=True)
    right.append((5, 1, "e", 3))
    assert kit.silver(lake, "items", "id, at, v, _changed_batch") == right
    assert kit.merge(lake, "items") is None, "the mark is that of the last batch"
    damage()
    job = lake.definitions.resolve_job_def("rebuild")
    config = {"table": "silver.items", "dry_run": False}
    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(run_config={"ops": {"rebuild_op": {"config": config}}}, instance=instance)
        (event,) = instance.fetch_materializations(dg.AssetKey(["silver", "items"]), limit=5).records
        assert done.success
        assert event.asset_materialization is not None
        shown = event.asset_materialization.metadata
        assert shown["full_merge"].value == "a rebuild was requested"
        # The page of the table stays whole: a rebuild shows what a merge shows.
        assert {"dagster/column_schema", "dagster/column_lineage", "dagster/row_count"} <= shown.keys()
        equal = dg.AssetCheckKey(dg.AssetKey(["silver", "items"]), "silver_equals_bronze")
        (evaluated,) = instance.event_log_storage.get_asset_check_execution_history(equal, limit=5)
        assert evaluated.status == AssetCheckExecutionRecordStatus.SUCCEEDED
    assert kit.silver(lake, "items", "id, at, v, _changed_batch") == right

    # Later merges continue where the mark is.
    land("4", (1, 2, "next", False))
    assert kit.merge(lake, "items").why_full is None
    assert kit.silver(lake, "items", "id, at, v, _changed_batch")[0] == (1, 2, "next", 4)
    work = merge_state(lake.lake, lake.spec("items"))
    assert work is not None
    assert work.mark == work.n == 4


#: Rows of two batches as (id, at, v, op). The second one has a late row, a delete, a new key and a row that is skipped.
BATCHES = (
    ((1, 1, "a", "u"), (2, 5, "b", "u"), (3, 5, "c", "u"), (4, 1, "d", "u"), (None, 1, "n", "u")),
    ((2, 4, "late", "u"), (3, 6, "", "d"), (5, 1, "e", "u"), (6, 1, "x", "x")),
)
COLUMNS = {"id": "int", "at": "int", "v": "string", "op": "string"}
CHANGES = {"keys": ["id"], "order": "at", "apply_as_deletes": "op = 'd'", "skip_when": "op = 'x'", "every": 10}


def _damage(lake: TestLake, location: str) -> None:
    """Change silver. Of the keys 2, 3 and 5 there is a row in batch 2. The row of the key 9 claims to be of batch 2."""
    rows = lake.lake.delta.session.read.format("delta").load(location)
    changed = "CASE WHEN id = 2 THEN 'damaged' WHEN id = 1 THEN 'stays' ELSE v END"
    wrong = rows.where("id IS NULL OR id NOT IN (3, 5)").withColumn("v", F.expr(changed))
    more = rows.where("id = 2").withColumns({"id": F.lit(9), "_changed_batch": F.lit(2).cast("bigint")})
    wrong.unionByName(more).write.format("delta").mode("overwrite").save(location)


def _csv(*rows: tuple[Any, ...]) -> str:
    lines = (",".join("" if value is None else str(value) for value in row) for row in (tuple(COLUMNS), *rows))
    return "".join(f"{line}\n" for line in lines)


def _read_again(lake: TestLake, kit: Any, table: str, **csv: Any) -> None:
    """Read all files of a table again, with other options of CSV."""
    body = yaml.safe_load(lake.path.read_text())
    next(each for each in body["tables"] if each["name"] == table)["csv"] = csv
    lake.path.write_text(yaml.safe_dump(body))
    lake.config = lake.lake.config = load_lake(lake.path)
    rebuild_table(lake.lake, lake.key(table), by="test")
    kit.run(lake, table, listing=False)


def test_a_rebuild_from_a_batch_computes_the_keys_since_then_and_no_others(
    tidegate_lake: MakeLake, kit: Any, shell: Shell
) -> None:
    """The newest rows of a loaded table, by command, and the history of a registered table, by job."""
    lake = tidegate_lake(
        [
            {"name": "newest", "prefix": "newest/", "format": "csv", "columns": COLUMNS, "silver": CHANGES},
            {"name": "history", "prefix": "history/", "silver": {**CHANGES, "stored_as": "scd2"}},
        ]
    )
    shell.use(lake)

    def rows(table: str) -> list[Any]:
        found = kit.query(lake, "SELECT * EXCEPT (_changed_at) FROM {t}", t=lake.lake.store.uri("silver", table))
        return sorted((row.asDict(recursive=True) for row in found), key=repr)

    right = {}
    for table in ("newest", "history"):
        for number, batch in enumerate(BATCHES):
            if table == "newest":
                lake.put(f"newest/{number}.csv", _csv(*batch))
            else:
                changes = [dict(zip(COLUMNS, row, strict=True)) for row in batch]
                lake.put(f"history/{number}.parquet", kit.parquet(changes))
            kit.run(lake, table)
        kit.merge(lake, table)
        right[table] = [{**row, "v": "stays"} if row["id"] == 1 else row for row in rows(table)]
        _damage(lake, lake.lake.store.uri("silver", table))

    # A batch that waits is merged before, and a rebuild that dies before its commit has changed nothing else.
    lake.put("newest/3.csv", _csv((4, 2, "next", "u")))
    kit.run(lake, "newest")
    right["newest"] = [row for row in right["newest"] if row["id"] != 4]
    with dying_in(silver_merge, "silver-merge"):
        rebuild_silver(lake.lake, "silver.newest", by="test", since=2)
    merged = rows("newest")
    assert ("next", 3) in [(row["v"], row["_changed_batch"]) for row in merged]
    assert "damaged" in [row["v"] for row in merged]
    with dying_in(silver_merge, "silver-gather"):
        rebuild_silver(lake.lake, "silver.newest", by="test", since=2)
    assert rows("newest") == merged
    run_rebuild(shell, "silver.newest", None, None, yes=False, since=2)
    assert "tidegate rebuild silver.newest --from-batch 2 --yes" in " ".join(shell.said().split())
    run_rebuild(shell, "silver.newest", None, None, yes=True, since=2)
    right["newest"] = [row for row in right["newest"] if row["id"] != 4] + [row for row in merged if row["id"] == 4]
    assert rows("newest") == sorted(right["newest"], key=repr)

    # While a batch that waits is merged, the files are read again, and have no row of the key 1 any more.
    lake.put("newest/4.csv", _csv((7, 1, "g", "u")))
    kit.run(lake, "newest")
    left = [partial(_read_again, lake, kit, "newest", comment="1")]
    with patch.object(silver_merge, "seam", lambda name: left.pop()() if name == "silver-merge" and left else None):
        rebuild_silver(lake.lake, "silver.newest", by="test", since=4)
    found = {row["id"] for row in rows("newest")}
    assert 7 in found
    assert 1 not in found
    assert kit.merge(lake, "newest") is None

    job = lake.definitions.resolve_job_def("rebuild")
    config = {"table": "silver.history", "from_batch": 2, "dry_run": False}
    assert job.execute_in_process(run_config={"ops": {"rebuild_op": {"config": config}}}).success
    assert rows("history") == sorted(right["history"], key=repr)
    for name, batch, problem in (
        ("silver.newest", 6, r"bronze\.newest has no batch 6: rebuild from one of its batches 1 to 5"),
        ("newest", 1, r"newest is not a silver table, and only silver is rebuilt from a batch"),
    ):
        with pytest.raises(ConfigurationError, match=problem):
            run_rebuild(shell, name, None, None, yes=True, since=batch)


TYPES = {"id": "int", "at": "int", "seq": "int", "v": "string", "m": "map<string, array<map<string, int>>>"}


def _land(lake: TestLake, kit: Any, table: str, number: int, *rows: Row, second: TableSpec | None = None) -> None:
    lake.put(f"{table}/{number}.json", kit.lines(*rows))
    kit.run(lake, table)
    kit.merge(lake, table)
    if second is not None:
        silver_merge.merge_table(lake.lake, second)


def _rows(lake: TestLake, kit: Any, table: str) -> list[Row]:
    query = "SELECT * EXCEPT (_changed_at, _changed_batch) FROM {t}"
    found = kit.query(lake, query, t=lake.lake.store.uri("silver", table))
    return sorted((row.asDict(recursive=True) for row in found), key=repr)


def test_a_rebuild_gives_what_merges_gave(tidegate_lake: MakeLake, kit: Any) -> None:
    """No older row gives a part of the order. A row of before a column came leaves the value of the column, too."""
    silver = {"keys": ["id"], "order": ["at", "seq"], "ignore_null_updates": True, "every": 10}
    tables: dict[str, Row] = {
        "alike": {"columns": TYPES, "silver": {"keys": ["id"], "order": "at", "on_tie": "fail", "every": 10}},
        "history": {"columns": TYPES, "silver": {**silver, "stored_as": "scd2"}},
        "wider": {"silver": {**silver, "order": "at", "stored_as": "scd2"}},
    }
    lake = tidegate_lake([{"name": name, "prefix": f"{name}/", "format": "json", **tables[name]} for name in tables])
    entry, other = {"k": [{"a": 1, "b": 2}, None], "l": []}, {"l": [], "k": [{"b": 2, "a": 1}, None]}
    alike = {"id": 2, "at": 1, "seq": 1, "v": "a"}
    none = {"id": None, "at": 1, "seq": 1, "v": "n"}
    newest = kit.second(lake, "history", "newest", silver)
    for number, rows in enumerate(
        (
            ({"id": 1, "at": 1, "seq": 3, "v": "a", "m": entry}, {**alike, "m": entry}, none),
            ({"id": 1, "at": 2, "seq": None, "v": "b"}, {**alike, "m": other}),
            ({"id": 1, "at": 2, "seq": 1, "v": "c"}, {**alike, "at": 2, "v": None, "m": entry}),
        )
    ):
        _land(lake, kit, "history", number, *rows, second=newest)
    _land(lake, kit, "alike", 1, {**alike, "m": entry}, {**alike, "m": other})
    _land(lake, kit, "alike", 2, {**alike, "m": entry})
    _land(lake, kit, "wider", 1, {"id": 1, "at": 1, "v": "a"}, {"id": 1, "at": 3, "v": "c"})
    _land(lake, kit, "wider", 2, {"id": 1, "at": 2, "v": None, "new": "b"})
    for spec in (newest, *map(lake.spec, tables)):
        merged = _rows(lake, kit, spec.name)
        compared = compare(lake.lake, spec)
        assert compared is not None
        assert (compared.suspects, compared.wrong) == (0, ()), spec.name
        if spec.name in ("newest", "history"):
            kit.query(lake, "INSERT INTO {t} SELECT * FROM {t}", t=lake.lake.store.uri("silver", spec.name))
        silver_merge.rebuild_table(lake.lake, spec)
        assert _rows(lake, kit, spec.name) == merged, spec.name
    found = kit.silver(lake, "newest", "id, at, seq, v")
    assert found == [(1, 2, 1, "c"), (2, 2, 1, "a"), (None, 1, 1, "n")]
    starts = lake.sql("SELECT seq, valid_from.at FROM silver.history ORDER BY id, valid_from")
    assert [tuple(row) for row in starts] == [(1, 1), (3, 1), (None, 2), (1, 2), (1, 1)], "equal maps continue a row"
    assert [row["new"] for row in lake.sql("SELECT new FROM silver.wider ORDER BY valid_from")] == [None, "b", "b"]


def test_a_rebuild_gives_what_lake_yaml_says_now(tidegate_lake: MakeLake, kit: Any) -> None:
    silver = {"keys": ["id"], "order": "at", "every": 10}
    tables: dict[str, Row] = {
        "history": {**silver, "stored_as": "scd2"},
        "emptied": {**silver, "apply_as_truncates": "v = 't'"},
    }
    lake = tidegate_lake(
        [
            {"name": name, "prefix": f"{name}/", "format": "json", "columns": TYPES, "silver": options}
            for name, options in tables.items()
        ]
    )
    ann, bob = {"id": 1, "at": 1, "seq": 1, "v": "ann@x.org"}, {"id": 2, "at": 1, "seq": 1, "v": "bob@x.org"}
    newest = kit.second(lake, "history", "newest", silver)
    _land(lake, kit, "history", 1, ann, bob, second=newest)
    _land(lake, kit, "history", 2, {"id": 1, "at": 2, "seq": 2, "v": "ann@y.org"}, second=newest)
    _land(lake, kit, "emptied", 1, {"id": 1, "at": 1, "v": "a"}, {"id": 2, "at": 9, "v": "t"})
    assert _rows(lake, kit, "emptied") == []
    body = yaml.safe_load(lake.path.read_text())
    shaped = {"except_columns": ["v"], "derive": {"host": "split(v, '@')[1]"}, "rename": {"seq": "n"}}
    for table in body["tables"]:
        table["silver"] |= {"apply_as_truncates": "v = 'x'"} if table["name"] == "emptied" else shaped
    lake.path.write_text(yaml.safe_dump(body, sort_keys=False))
    lake.config = lake.lake.config = load_lake(lake.path)
    silver_merge.rebuild_table(lake.lake, kit.second(lake, "history", "newest", {**silver, **shaped}), since=2)
    for table in tables:
        rebuild_silver(lake.lake, f"silver.{table}", by="test")
    names = ("id", "v", "seq", "n", "host")
    found = {
        table: [tuple(row.get(name) for name in names) for row in _rows(lake, kit, table)]
        for table in ("newest", *tables)
    }
    assert found == {
        "newest": [(1, None, None, 2, "y.org"), (2, "bob@x.org", 1, None, None)],  # the other keys stay
        "history": [(1, None, None, 1, "x.org"), (1, None, None, 2, "y.org"), (2, None, None, 1, "x.org")],
        "emptied": [(1, "a", None, None, None), (2, "t", None, None, None)],
    }
