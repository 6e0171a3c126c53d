"""A rebuild of a silver table: one commit makes it what bronze gives, and a kill changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest

from tests.spark.conftest import Shell
from tests.support.lakes.seams import dying_in
from tidegate.assets.operations import silver_rebuild
from tidegate.assets.operations.silver_rebuild import rebuild_silver
from tidegate.assets.silver import merge as silver_merge
from tidegate.assets.silver.pending import merge_state
from tidegate.platform.cli.commands.rebuild import run_rebuild
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


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
    with pytest.raises(CommandError, match=r"bronze\.items has no rows yet"):
        run_rebuild(shell, "silver.items", None, None, yes=True)
    with pytest.raises(CommandError, match=r"there is no silver table 'silver\.item': lake\.yaml has silver\.items"):
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
        for statement in (
            "UPDATE {t} SET v = 'x', at = 90 WHERE id = 1",
            "DELETE FROM {t} WHERE id IN (2, 3)",
            "INSERT INTO {t} SELECT 77 AS id, * EXCEPT (id) FROM {t} WHERE id = 4",
        ):
            kit.query(lake, statement, t=table)
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
        (event,) = instance.fetch_materializations(dg.AssetKey(["silver_items"]), limit=5).records
        assert done.success
        assert event.asset_materialization is not None
        assert event.asset_materialization.metadata["full_merge"].value == "a rebuild was requested"
    assert kit.silver(lake, "items", "id, at, v, _changed_batch") == right

    # Later merges continue where the mark is.
    land("4", (1, 2, "next", False))
    assert kit.merge(lake, "items").why_full is None
    assert kit.silver(lake, "items", "id, at, v, _changed_batch")[0] == (1, 2, "next", 4)
    work = merge_state(lake.lake, lake.spec("items"))
    assert work is not None
    assert work.mark == work.n == 4
