"""A tick of the sensor `health` on a real inbox, real queues and CloudWatch, without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import dagster as dg
import yaml

from tests.support.ticks import evaluate
from tidegate.assets.health.asset import build_health_checks
from tidegate.assets.keys import LakeNames
from tidegate.platform.cli.check.metrics import check_metrics
from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.health.alarms import template
from tidegate.platform.definitions import build_definitions
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients, provision
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource

KEYS = {"region_name": REGION, "aws_access_key_id": "test", "aws_secret_access_key": "test"}


def test_a_tick_reports_what_waits_to_dagster_and_cloudwatch(tmp_path: Path) -> None:
    path = tmp_path / "lake.yaml"
    with LocalAws(tmp_path / "aws", 0) as aws, dg.instance_for_test() as instance:
        body = {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"url": aws.queue_url("events")}],
            "buckets": ["landing"],
            "metrics": "cloudwatch",
            "tables": [{"name": name, "prefix": f"s3://landing/{name}/"} for name in ("orders", "idle")],
        }
        path.write_text(yaml.safe_dump(body))
        config = load_lake(path)
        clients = Clients.connect(aws.endpoint, REGION, key="test", secret="test")
        provision(clients, WantedResources.from_config(config))
        received = clients.sqs.receive_message(QueueUrl=aws.queue_url("events"))["Messages"]
        assert "s3:TestEvent" in received[0]["Body"], "it is in flight from now on"
        clients.sqs.send_message(QueueUrl=aws.queue_url("events"), MessageBody="1")
        for number in range(3):
            clients.sqs.send_message(QueueUrl=aws.queue_url("events-dlq"), MessageBody=str(number))
        lake = LakeResource(
            lake_yaml=str(path),
            spark_remote="sc://127.0.0.1:1",
            aws=AwsResource(endpoint_url=aws.endpoint, **KEYS),
        )
        old = (datetime.now(UTC) - timedelta(hours=2)).isoformat()
        hints = [Hint("orders/a", Event("m#0", time=old), 5), Hint("orders/b", size=6)]
        # More tables than the metrics of one PutMetricData request, and enough of them for compression.
        others = [Manifest.create(f"landing.t{number}", "intake", hints[1:]) for number in range(500)]
        lake.open().store.inbox.put([Manifest.create("landing.orders", "intake", hints), *others])

        definitions = build_definitions(config, lake)
        done = evaluate("health", definitions, instance, lake)
        assert (done.skip_message or "").startswith("1 of 502 tables are behind; 502 files wait for 501 tables; 3 dead")
        for event in done.asset_events:
            instance.report_runless_asset_event(event)

        cloudwatch = boto3.client("cloudwatch", endpoint_url=aws.endpoint, **KEYS)
        assert value(cloudwatch, "PendingFiles", Table="orders") == 2
        assert value(cloudwatch, "PendingBytes", Table="orders") == 11
        assert 7200 <= value(cloudwatch, "OldestEventAge", Table="orders") < 7800
        assert value(cloudwatch, "PendingFiles", Table="landing.t499") == 1
        assert value(cloudwatch, "TablesBehind") == 1
        assert value(cloudwatch, "MessagesWaiting", Queue="events") == 1
        assert value(cloudwatch, "MessagesInFlight", Queue="events") == 1
        assert value(cloudwatch, "DeadLetters", Queue="events") == 3
        assert check_metrics(cloudwatch).ok
        # CloudFormation's properties of an alarm are the parameters of this call.
        for alarm in template(config)["Resources"].values():
            properties = alarm["Properties"]
            cloudwatch.put_metric_alarm(**{name: properties[name] for name in properties if "Actions" not in name})
        firing = {alarm["AlarmName"] for alarm in cloudwatch.describe_alarms(StateValue="ALARM")["MetricAlarms"]}
        # The emulator only compares names, so it cannot verify the alarm of one table.
        assert "Tidegate lake/root: a table is behind" in firing
        assert "Tidegate lake/root: something is in quarantine" not in firing

        shown = instance.get_latest_materialization_event(LakeNames().lake_health)
        assert shown is not None
        assert shown.asset_materialization is not None
        metadata = shown.asset_materialization.metadata
        assert (metadata["pending_files"].value, metadata["dead_letters"].value) == (502, 3)
        assert "| ⚠\u202f`orders` | 2h" in str(metadata["overview"].value)
        assert failed(instance, "lake_health", "every_table_keeps_up")
        assert failed(instance, "lake_health", "no_dead_letters")
        assert not failed(instance, "lake_health", "everything_is_measured")
        assert failed(instance, "bronze/orders", "keeps_up")
        assert not failed(instance, "bronze/idle", "keeps_up")

        # A person may do the same: measure, and evaluate the check of one table.
        graph = definitions.resolve_asset_graph()
        done = dg.materialize([graph.assets_def_for_key(LakeNames().lake_health)], instance=instance)
        (again,) = done.asset_materializations_for_node("lake_health")  # type: ignore[attr-defined]
        assert again.metadata["tables_behind"].value == 1
        (page,) = build_health_checks(config)
        wanted = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey(["bronze", "orders"]), "keeps_up"))
        done = dg.materialize([page], selection=wanted, resources={"lake": lake}, instance=instance)
        assert [
            (evaluation.asset_key.path[-1], evaluation.passed)
            for evaluation in done.get_asset_check_evaluations()  # type: ignore[attr-defined]
        ] == [("orders", False)]


def value(cloudwatch: Any, name: str, **dimensions: str) -> float:
    """Return the value of a metric in CloudWatch."""
    now = datetime.now(UTC)
    (point,) = cloudwatch.get_metric_statistics(
        Namespace="Tidegate",
        MetricName=name,
        Dimensions=[{"Name": key, "Value": text} for key, text in {"Lake": "lake/root", **dimensions}.items()],
        StartTime=now - timedelta(hours=1),
        EndTime=now + timedelta(hours=1),
        Period=7200,
        Statistics=["Maximum"],
    )["Datapoints"]
    return float(point["Maximum"])


def failed(instance: dg.DagsterInstance, asset: str, check: str) -> bool:
    key = dg.AssetCheckKey(dg.AssetKey(asset.split("/")), check)
    (record,) = instance.event_log_storage.get_asset_check_execution_history(key, limit=5)
    assert record.evaluation is not None
    return not record.evaluation.passed
