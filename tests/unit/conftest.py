"""A lake on paper: its configuration and definitions, without running services."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
import yaml
from dagster._core.definitions.sensor_definition import SensorExecutionData

from tests.support.ticks import evaluate
from tidegate.assets.keys import LakeNames
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.definitions import build_definitions
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.lake.lake_root.inbox import Backlog
from tidegate.platform.lake.spark.provider import SparkProvider
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.local.instance_config import instance_config
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource
from tidegate.sensors.intake import sensor as intake

PAPER = {
    "lake": {"root": "s3://lake/root"},
    "queues": [{"name": "events"}, {"url": "https://sqs.example/1/more"}],
    "buckets": ["landing", "second"],
    "window": 0,
    "tables": [
        {
            "name": "orders",
            "prefix": "s3://landing/orders/",
            "owners": ["team:sales"],
            "description": "Orders as the shop exports them.",
            "silver": {"keys": ["id"], "order": "at", "schedule": "*/10 * * * *"},
        },
        {
            "name": "items",
            "prefix": "s3://landing/items/",
            "owners": ["a@example.org"],
            "silver": {"keys": ["id"], "order": "at", "every": 10},
        },
        {"name": "plain", "prefix": "s3://second/plain/"},
    ],
}


class Paper:
    """Definitions of a lake whose inbox is a list."""

    def __init__(self, path: Path, name: str = "") -> None:
        self.path = path
        lake = {**PAPER["lake"], **({"name": name} if name else {})}  # type: ignore[dict-item]
        path.write_text(yaml.safe_dump({**PAPER, "lake": lake}))
        self.config: LakeConfig = load_lake(path)
        self.resource = LakeResource(lake_yaml=str(path), spark_remote="sc://127.0.0.1:1", aws=AwsResource())
        self.definitions: dg.Definitions = build_definitions(self.config, self.resource)
        self.inbox: list[Backlog] = []
        self.server: SparkProvider = SparkRemote.parse("sc://127.0.0.1:1")
        self.names = LakeNames.from_config(self.config)

    def hint(self, table: str) -> None:
        """Add a backlog of one hint for the table. The hint has waited since time 0."""
        self.inbox.append(Backlog(table, 1, 0.0))

    def tick(self, instance: dg.DagsterInstance, cursor: str | None = None) -> SensorExecutionData:
        """Evaluate the intake sensor once, as the daemon does."""
        return evaluate(self.names.name("intake"), self.definitions, instance, self.resource, cursor)


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Paper]:
    """Make lakes on paper, by their names in Dagster."""
    made: dict[str, Paper] = {}

    def opened(resource: LakeResource, table: str = "") -> SimpleNamespace:
        lake = made[resource.lake_yaml]
        log = SimpleNamespace(place_of=lambda at: f"{at:.0f}")
        inbox = SimpleNamespace(walk_backlogs=lambda after: iter(lake.inbox))
        gathered = SimpleNamespace(listed_objects=lambda after=None: iter(()))
        store = SimpleNamespace(inbox=inbox, gathered=gathered, intake_log=log)
        return SimpleNamespace(store=store, config=lake.config, delta=SimpleNamespace(server=lake.server))

    def make(name: str) -> Paper:
        lake = Paper(tmp_path / f"lake{name and '-'}{name}.yaml", name)
        made[str(lake.path)] = lake
        return lake

    monkeypatch.setattr(LakeResource, "open", opened)
    monkeypatch.setattr(intake, "listen", lambda *_, **__: IntakeResult())
    return make


@pytest.fixture
def paper(papers: Callable[[str], Paper]) -> Paper:
    return papers("")


@pytest.fixture(scope="module")
def shipped_instance() -> Iterator[dg.DagsterInstance]:
    """Yield an instance with the settings of the shipped dagster.yaml, and with Tidegate's launcher and queue."""
    with dg.instance_for_test(overrides=yaml.safe_load(instance_config(fork=True))) as made:
        yield made


@pytest.fixture
def instance(shipped_instance: dg.DagsterInstance) -> Iterator[dg.DagsterInstance]:
    """Yield `shipped_instance` without runs and partitions, because creating an instance takes seconds."""
    yield shipped_instance
    for run in shipped_instance.get_runs():
        shipped_instance.delete_run(run.run_id)
    for key in shipped_instance.get_dynamic_partitions("tables"):
        shipped_instance.delete_dynamic_partition("tables", key)
