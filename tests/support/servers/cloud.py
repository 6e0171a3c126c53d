"""Clients of the local AWS for tests of messages: queues, topics, and what arrives in them."""

from __future__ import annotations

import json
from typing import Any

from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.local.aws import ACCOUNT, REGION


class Cloud:
    """Clients of the local AWS.

    Args:
        endpoint: URL of the local AWS.
    """

    def __init__(self, endpoint: str) -> None:
        self.aws = Aws(
            endpoint_url=endpoint, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
        )
        self.sqs, self.sns, self.s3 = (self.aws.client(name) for name in ("sqs", "sns", "s3"))

    def queue(self, name: str, tags: dict[str, str] | None = None, **attributes: str) -> str:
        """Create a queue. Returns its URL."""
        return str(self.sqs.create_queue(QueueName=name, Attributes=attributes, tags=tags or {})["QueueUrl"])

    def subscribe(self, topic: str, queue: str, **attributes: str) -> None:
        """Subscribe a queue to a topic."""
        arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}"
        self.sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes)

    def drain(self, url: str) -> list[dict[str, Any]]:
        """Receive and delete all messages of a queue."""
        found: list[dict[str, Any]] = []
        while True:
            answer = self.sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=10,
                MessageAttributeNames=["All"],
                AttributeNames=["All"],
                WaitTimeSeconds=1,
            )
            messages = answer.get("Messages", [])
            if not messages:
                return found
            for message in messages:
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            found += messages


def notification(key: str, bucket: str = "landing") -> str:
    """Return the body of the notification that S3 sends of a new object."""
    record = {
        "eventSource": "aws:s3",
        "eventName": "ObjectCreated:Put",
        "s3": {"bucket": {"name": bucket}, "object": {"key": key, "size": 1}},
    }
    return json.dumps({"Records": [record]}, indent=1)
