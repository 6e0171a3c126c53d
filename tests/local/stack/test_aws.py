"""The embedded AWS keeps its state, and provisioning is idempotent."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local import aws as aws_module
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients, provision

WANTED = WantedResources(buckets=("landing", "second-landing"))


def clients(aws: LocalAws) -> Clients:
    return Clients.connect(aws.endpoint, REGION, key="test", secret="test")


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    with LocalAws(tmp_path_factory.mktemp("provisioned") / "aws", 0) as running:
        yield running


def drain(found: Clients, url: str) -> list[dict[str, Any]]:
    bodies = []
    while messages := found.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get(
        "Messages", []
    ):
        for message in messages:
            bodies.append(json.loads(message["Body"]))
            found.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return bodies


def test_everything_survives_a_restart(tmp_path: Path) -> None:
    home = tmp_path / "aws"
    keys = ["a/b.json", "a", "a//c+ü%.json", "k=v/_x.json"]
    with LocalAws(home, 0) as first:
        port, found = first.port, clients(first)
        url = provision(found, WANTED)
        assert url == first.queue_url(WANTED.event_queue.name)
        for key in keys:
            found.s3.put_object(Bucket="landing", Key=key, Body=key.encode())
        found.dynamodb.put_item(TableName="delta_log", Item={"tablePath": {"S": "t"}, "fileName": {"S": "0.json"}})
    with LocalAws(home, 0) as second:
        assert second.port != port
        found = clients(second)
        url = second.queue_url(WANTED.event_queue.name)
        listed = found.s3.list_objects_v2(Bucket="landing")["Contents"]
        assert {item["Key"] for item in listed} == set(keys)
        assert found.s3.get_object(Bucket="landing", Key="a//c+ü%.json")["Body"].read() == keys[2].encode()
        assert len(found.dynamodb.scan(TableName="delta_log")["Items"]) == 1
        bodies = drain(found, url)
        assert len([body for body in bodies if "Records" in body]) == len(keys)
        # The notification is still there, and not put again: one test event per bucket in all.
        provision(found, WANTED)
        found.s3.put_object(Bucket="second-landing", Key="new", Body=b"1")
        found.s3.delete_object(Bucket="second-landing", Key="new")
        bodies += drain(found, url)
        assert len([body for body in bodies if body.get("Event") == "s3:TestEvent"]) == 2
        names = [record["eventName"] for body in bodies for record in body.get("Records", [])]
        assert names[-2:] == ["ObjectCreated:Put", "ObjectRemoved:Delete"]


def test_provisioned_as_configured(aws: LocalAws) -> None:
    found = clients(aws)
    url = provision(found, WANTED)
    attributes = found.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert attributes["VisibilityTimeout"] == "120"
    assert attributes["ReceiveMessageWaitTimeSeconds"] == "20"
    redrive = json.loads(attributes["RedrivePolicy"])
    assert str(redrive["maxReceiveCount"]) == "8"
    assert redrive["deadLetterTargetArn"].endswith(":tidegate-events-dlq")
    sources = json.loads(attributes["Policy"])["Statement"][0]["Condition"]["ArnLike"]["aws:SourceArn"]
    assert sources == ["arn:aws:s3:::landing", "arn:aws:s3:::second-landing"]
    schema = found.dynamodb.describe_table(TableName="delta_log")["Table"]["KeySchema"]
    assert [key["AttributeName"] for key in schema] == ["tablePath", "fileName"]
    ttl = found.dynamodb.describe_time_to_live(TableName="delta_log")["TimeToLiveDescription"]
    assert ttl["AttributeName"] == "expireTime"
    assert "QueueConfigurations" not in found.s3.get_bucket_notification_configuration(Bucket="tidegate-lake")


def test_a_second_provisioning_changes_nothing_and_keeps_what_others_set(aws: LocalAws) -> None:
    found = clients(aws)
    url = provision(found, WANTED)
    arn = found.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    written: list[str] = []
    for client in (found.s3, found.sqs, found.dynamodb):
        client.meta.events.register("before-call", lambda model, **_: written.append(model.name))
    provision(found, WANTED)
    assert not [name for name in written if name.startswith(("Create", "Put", "Set", "Update"))]
    foreign = {"Id": "theirs", "QueueArn": arn, "Events": ["s3:ObjectRestore:Completed"]}
    found.s3.put_bucket_notification_configuration(
        Bucket="landing",
        NotificationConfiguration={"QueueConfigurations": [foreign]},  # type: ignore[list-item]
    )
    provision(found, WANTED)
    put = found.s3.get_bucket_notification_configuration(Bucket="landing")["QueueConfigurations"]
    assert {item["Id"] for item in put} == {"theirs", "tidegate"}


def test_only_loopback_and_no_files_outside_the_home(aws: LocalAws) -> None:
    assert aws.endpoint.startswith("http://127.0.0.1:")
    assert {entry.name for entry in aws.home.parent.iterdir()} == {"aws"}


def test_a_stop_during_long_polls_still_saves(tmp_path: Path) -> None:
    with LocalAws(tmp_path / "aws", 0) as first:
        found = clients(first)
        url = found.sqs.create_queue(QueueName="waits")["QueueUrl"]
        patient = boto3.client(
            "sqs",
            endpoint_url=first.endpoint,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"max_attempts": 0}),
        )

        def poll() -> None:
            with suppress(BotoCoreError, ClientError):
                patient.receive_message(QueueUrl=url, WaitTimeSeconds=20)

        thread = threading.Thread(target=poll, daemon=True)
        thread.start()
        time.sleep(0.5)
        began = time.monotonic()
        first.stop()
        assert time.monotonic() - began < 15
        thread.join(10)
    with LocalAws(tmp_path / "aws", 0) as second:
        assert clients(second).sqs.list_queues()["QueueUrls"]


def test_a_server_that_dies_at_start_shows_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws_module, "_MODULE", "json.tool")
    aws = LocalAws(tmp_path, 0)
    with pytest.raises(UnavailableError, match="ended at start with exit code") as caught:
        aws.start(5.0)
    assert "aws.log" in str(caught.value)
    assert not aws.alive
