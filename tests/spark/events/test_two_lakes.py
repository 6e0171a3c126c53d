"""Two lakes with equal tables, and a project of somebody else, in one code location and one Dagster instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
import pytest

from tests.support.ticks import evaluate
from tidegate.assets.keys import LakeNames
from tidegate.platform.definitions import build_definitions
from tidegate.platform.testing import TestLake

ORDERS = {
    "name": "orders",
    "prefix": "orders/",
    "format": "json",
    "silver": {"keys": ["id"], "order": "at", "every": 5},
}


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as made:
        yield made


def test_two_lakes_and_a_foreign_project_see_nothing_of_each_other(
    tidegate_lake: Callable[..., TestLake], kit: Any, instance: dg.DagsterInstance
) -> None:
    lakes = {name: tidegate_lake([ORDERS], lake={"name": name}) for name in ("sales", "parts")}

    @dg.asset(key=["bronze", "orders"])
    def theirs() -> None:
        """Do nothing: an asset of a project that has a name which a lake without a name would have."""

    both = dg.Definitions.merge(
        *(build_definitions(lake.config, lake.resource, is_guest=True) for lake in lakes.values()),
        dg.Definitions(assets=[theirs]),
    )
    dg.Definitions.validate_loadable(both)
    for number, (name, lake) in enumerate(lakes.items()):
        lake.put("orders/1.json", kit.lines({"id": 1, "at": 1, "of": name}, {"id": 2 + number, "at": 1, "of": name}))

    def tick(sensor: str) -> list[dg.RunRequest]:
        owner = lakes[sensor.partition("_")[0]]
        found = evaluate(sensor, both, instance, owner.resource)
        for wanted in found.dynamic_partitions_requests or []:
            instance.add_dynamic_partitions(wanted.partitions_def_name, list(wanted.partition_keys))
        return list(found.run_requests or [])

    def run(request: dg.RunRequest, sensor: str) -> None:
        job = both.resolve_job_def(request.job_name or both.resolve_sensor_def(sensor).job_name)
        done = job.execute_in_process(
            run_config=request.run_config, partition_key=request.partition_key, tags=request.tags, instance=instance
        )
        assert done.success

    for sensor in ("sales_intake", "parts_intake"):
        (request,) = tick(sensor)
        run(request, sensor)
        assert tick(sensor) == []
    for sensor in ("sales_silver_orders_sensor", "parts_silver_orders_sensor"):
        (request,) = tick(sensor)
        run(request, sensor)
        assert tick(sensor) == []
    for number, (name, lake) in enumerate(lakes.items()):
        names = LakeNames(name)
        rows = {tuple(row) for row in lake.sql("SELECT id, of FROM silver.orders")}
        assert rows == {(1, name), (2 + number, name)}
        assert names.known_tables(instance) == {lake.key("orders")}
        for key in (names.bronze, names.bronze_table("orders"), names.silver_table("orders")):
            assert len(instance.fetch_materializations(key, limit=5).records) == 1, key
    assert not instance.get_dynamic_partitions("tables")
    assert not instance.fetch_materializations(dg.AssetKey(["bronze", "orders"]), limit=1).records
