"""A lake on paper: its configuration and definitions, without running services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
import yaml
from dagster._core.definitions.sensor_definition import SensorExecutionData

from tests.support.ticks import evaluate
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.definitions import build_definitions
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.lake.lake_root.inbox import Backlog
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

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_text(yaml.safe_dump(PAPER))
        self.config: LakeConfig = load_lake(path)
        self.resource = LakeResource(lake_yaml=str(path), spark_remote="sc://127.0.0.1:1", aws=AwsResource())
        self.definitions: dg.Definitions = build_definitions(self.config, self.resource)
        self.inbox: list[Backlog] = []

    def hint(self, table: str) -> None:
        """Add a backlog of one hint for the table. The hint has waited since time 0."""
        self.inbox.append(Backlog(table, 1, 0.0))

    def tick(self, instance: dg.DagsterInstance, cursor: str | None = None) -> SensorExecutionData:
        """Evaluate the intake sensor once, as the daemon does."""
        return evaluate("intake", self.definitions, instance, self.resource, cursor)


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paper:
    lake = Paper(tmp_path / "lake.yaml")
    store = SimpleNamespace(inbox=SimpleNamespace(tour=lambda after: iter(lake.inbox)))
    monkeypatch.setattr(LakeResource, "open", lambda self: SimpleNamespace(store=store, config=lake.config))
    monkeypatch.setattr(intake, "listen", lambda *_, **__: IntakeResult())
    return lake


@pytest.fixture(scope="module")
def shipped_instance() -> Iterator[dg.DagsterInstance]:
    """Yields an instance with the settings of the shipped dagster.yaml."""
    settings = yaml.safe_load((Path(__file__).resolve().parents[2] / "platform" / "dagster.yaml").read_text())
    with dg.instance_for_test(overrides=settings) as made:
        yield made


@pytest.fixture
def instance(shipped_instance: dg.DagsterInstance) -> Iterator[dg.DagsterInstance]:
    """Yields `shipped_instance` without runs and partitions, because creating an instance takes seconds."""
    yield shipped_instance
    for run in shipped_instance.get_runs():
        shipped_instance.delete_run(run.run_id)
    for key in shipped_instance.get_dynamic_partitions("tables"):
        shipped_instance.delete_dynamic_partition("tables", key)
