"""The examples, run as a user would run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.support.tracked import ROOT
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.local.aws import REGION, LocalAws

DEADLINE = 60


def test_the_consumer_reads_each_object_once_and_leaves_what_fails(local_aws: LocalAws) -> None:
    aws = Aws(
        endpoint_url=local_aws.endpoint, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
    )
    sqs, sns, s3 = (aws.client(name) for name in ("sqs", "sns", "s3"))
    s3.create_bucket(Bucket="example-landing")
    topic = sns.create_topic(Name="example")["TopicArn"]
    urls = {name: sqs.create_queue(QueueName=f"example-{name}")["QueueUrl"] for name in ("raw", "enveloped")}
    for name in urls:
        sns.subscribe(
            TopicArn=topic,
            Protocol="sqs",
            Endpoint=f"{topic.rpartition(':')[0].replace(':sns:', ':sqs:')}:example-{name}",
            Attributes={"RawMessageDelivery": "true" if name == "raw" else "false"},
        )
    s3.put_object(Bucket="example-landing", Key="events/a b.json", Body=b"12345")

    def publish(text: str, **attributes: str) -> None:
        given: Any = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
        sns.publish(TopicArn=topic, Message=text, MessageAttributes=given)

    def notification(key: str) -> str:
        return json.dumps({"Records": [{"s3": {"bucket": {"name": "example-landing"}, "object": {"key": key}}}]})

    for key in ("events/a+b.json", "events/a+b.json", "events/gone.json"):
        publish(notification(key), event_type="orders")
    detail = {"bucket": {"name": "example-landing"}, "object": {"key": "events/a b.json"}}
    publish(json.dumps({"detail-type": "Object Created", "source": "aws.s3", "detail": detail}), event_type="orders")
    publish("no JSON")
    environ = {
        **os.environ,
        "AWS_ENDPOINT_URL": local_aws.endpoint,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    for url in urls.values():
        done = subprocess.run(
            [sys.executable, ROOT / "examples" / "consumer.py", url, "--idle", "0.1"],
            env=environ, capture_output=True, text=True, timeout=DEADLINE, check=True,
        )  # fmt: skip
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines == [{"type": "orders", "key": "events/a b.json", "bytes": 5}]
        assert "is left in the queue" in done.stderr
        counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        left = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=counts)["Attributes"]
        assert sum(int(left[name]) for name in counts) == 1
