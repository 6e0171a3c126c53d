"""The story of the demo of storage without its servers: each figure is the one that its oracle computes.

What the demo shows of `tidegate inventory enable` is in `tests/local/s3/test_demo_configurations.py`.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from rich.console import Console

from tidegate.assets.keys import LakeNames
from tidegate.assets.runs.tags import TRIGGER_TAG
from tidegate.platform.cli.commands.catalog_readers import run_readers
from tidegate.platform.cli.commands.cost import CostsQuestion
from tidegate.platform.cli.commands.cost import run_cost as run_table_cost
from tidegate.platform.cli.inventory.cost import CostQuestion, run_cost
from tidegate.platform.cli.inventory.manifest import ManifestQuestion, run_manifest
from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.demo.storage import storage_lake_file
from tidegate.platform.demo.storage.company import CompanyBucket, company
from tidegate.platform.demo.storage.deliveries import (
    TO,
    create_bucket,
    deliver,
    deliver_last_day,
    notify_of_signals_only,
    put_orders,
)
from tidegate.platform.demo.storage.findings import write_prices
from tidegate.platform.demo.storage.orphans import delete_left_over
from tidegate.platform.demo.storage.past_days import INVENTORIES, begin_orders, ingest_day
from tidegate.platform.demo.storage.planted_buckets import ORDERS
from tidegate.platform.demo.storage.report import StorageReport
from tidegate.platform.demo.storage.run import JOBS, UNENCRYPTED, compare_tables
from tidegate.platform.local.provision import provision
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.testing import TestLake

#: The smallest company for which every report has something to find, and its buckets that take part.
BUCKETS, DAYS = 91, 6
NUMBERS = (0, 1, 2, 3, 10, 20, 30, 40, 50, 60, 70, 80, 90)


class Some(Sequence[CompanyBucket]):
    """Some buckets of the company, by their numbers in it."""

    def __init__(self) -> None:
        every = company(BUCKETS, DAYS)
        self._some = {number: every[number] for number in NUMBERS}

    def __getitem__(self, number: Any) -> Any:
        return self._some[number]

    def __iter__(self) -> Iterator[CompanyBucket]:
        return iter(self._some.values())

    def __len__(self) -> int:
        return len(self._some)


class DemoLake(TestLake):
    """The lake of the demo on the stack of the tests."""

    def __init__(self, stack: LocalStack, path: Path) -> None:
        self.stack, self.path = stack, path
        self.clients = stack.clients()
        self.config = load_lake(path)
        provision(self.clients, WantedResources.from_config(self.config))


def test_each_figure_of_the_demo_is_the_one_that_its_oracle_computes(
    tidegate_stack: LocalStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGATE_QUEUE_URL", tidegate_stack.aws.queue_url("storage-demo"))
    shutil.copyfile(storage_lake_file(), tmp_path / "lake.yaml")
    write_prices(tmp_path / "prices.csv")
    lake = DemoLake(tidegate_stack, tmp_path / "lake.yaml")
    buckets, report, last = Some(), StorageReport(len(NUMBERS), DAYS), DAYS - 1
    s3, opened = lake.clients.s3, lake.lake
    for bucket in buckets:
        create_bucket(s3, bucket)
    notify_of_signals_only(s3)
    put_orders(s3, buckets[ORDERS].name)
    versions: dict[int, int] = {}
    # Some stop after day 1, and the weekly ones come on the day before the last one. No figure is of a day in between.
    for days in ((0,), (1, last - 1)):
        for bucket in buckets:
            for day in filter(bucket.delivers, days):
                deliver(s3, TO, bucket, day)
        versions[days[-1]] = ingest_day(opened)
    answers: dict[str, Any] = {"left_over": delete_left_over(opened, begin_orders(opened, s3))}
    deliver_last_day(s3, buckets, last)
    lake.intake()
    with dg.DagsterInstance.ephemeral() as instance:
        _materialize(lake, instance)
        answers |= _answers(lake, tmp_path / "prices.csv")
        compare_tables(report, opened, instance, buckets, versions, answers)
    wrong = [
        f"{figure.what}: {figure.found} instead of {figure.expected}" for figure in report.figures if not figure.right
    ]
    assert (wrong, len(report.figures)) == ([], 32)


def _materialize(lake: DemoLake, instance: dg.DagsterInstance) -> None:
    graph = lake.definitions.resolve_asset_graph()
    instance.add_dynamic_partitions(LakeNames().name("tables"), [INVENTORIES])
    bronze = graph.assets_def_for_key(dg.AssetKey("bronze"))
    dg.materialize([bronze], partition_key=INVENTORIES, instance=instance, tags={TRIGGER_TAG: "sensor"})
    reports = [graph.assets_def_for_key(key) for key in graph.get_all_asset_keys() if key.path[0] == "storage"]
    dg.materialize([*reports, graph.assets_def_for_key(dg.AssetKey("catalog"))], instance=instance)


def _answers(lake: DemoLake, prices: Path) -> dict[str, Any]:
    """Return what the commands of the demo print, which it runs as processes."""

    def printed(command: Callable[..., None], *words: Any) -> Any:
        console = Console(file=io.StringIO(), width=200)
        command(console, lake.lake, *words, as_json=True)
        return json.loads(console.file.getvalue())  # type: ignore[attr-defined]

    to = f"s3://{lake.config.lake.bucket}/{JOBS}"
    manifest = ManifestQuestion(sql=UNENCRYPTED, to=to)
    return {
        "cost": printed(run_cost, CostQuestion("objects", (prices,), limit=1)),
        "manifest": printed(run_manifest, lake.lake.store.objects, manifest, "000000000000"),
        "table_cost": printed(run_table_cost, lake.path, CostsQuestion("orders")),
        "readers": printed(run_readers),
    }
