"""A backfill of thirty tables, by Dagster's daemon, on a real lake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
import pytest

from tests.support.backfills import AT_ONCE, run_backfill
from tidegate.assets.keys import LakeNames
from tidegate.assets.runs.held_tables import RunTables
from tidegate.platform.testing import TestLake

BRONZE, PARTITIONS = LakeNames().bronze, LakeNames().tables


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test(overrides=dict(AT_ONCE)) as made:
        yield made


def test_a_backfill_of_thirty_tables_makes_two_runs_and_a_broken_table_fails_alone(
    tidegate_lake: Callable[..., TestLake], instance: dg.DagsterInstance, kit: Any
) -> None:
    names = [f"t{n:02d}" for n in range(30)]
    lake = tidegate_lake([{"name": name, "prefix": f"{name}/"} for name in names])
    foreign = {"metaData": {"id": "x", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [],
                            "schemaString": '{"type":"struct","fields":[]}', "configuration": {}}}  # fmt: skip
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    lake.put(f"t07/_delta_log/{0:020d}.json", kit.lines(protocol, foreign))
    for n, name in enumerate(names):
        lake.put(f"{name}/1.parquet", kit.parquet([{"id": n}, {"id": n + 100}]))
    # No intake: a backfill finds files of which no event came.
    keys = [lake.key(name) for name in names]
    instance.add_dynamic_partitions(str(PARTITIONS.name), keys)

    status, runs = run_backfill(lake.definitions, instance, BRONZE, keys)

    assert (status, [run.status.value for run in runs]) == ("COMPLETED_FAILED", ["FAILURE", "SUCCESS"])
    assert [len(RunTables(instance).find(run)) for run in runs] == [25, 5]
    assert RunTables(instance).find_failed(runs[0]) == [lake.key("t07")]
    found = instance.get_status_by_partition(BRONZE, keys, PARTITIONS) or {}
    shown = {name: state and state.value for name, state in zip(names, map(found.get, keys), strict=True)}
    assert shown == {name: "FAILED" if name == "t07" else "MATERIALIZED" for name in names}
    for n in (0, 6, 8, 29):
        assert sorted(kit.bronze(lake, names[n])) == [(n,), (n + 100,)]
    made = instance.fetch_materializations(BRONZE, limit=99).records
    rows = {record.partition_key: record.asset_materialization.metadata["rows"].value for record in made}
    assert rows == {key: 2 for key in keys if key != lake.key("t07")}
    # The page of a table has its own materialization.
    assert instance.get_latest_materialization_event(LakeNames().bronze_table("t29"))
