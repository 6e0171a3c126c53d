#!/usr/bin/env python3
"""A consumer of a Tidegate route, for a team with a pipeline of its own.

It receives the events of an SQS queue, reads the object of each event as it is now, and prints a line for it. It needs
nothing of Tidegate, only boto3:

    python consumer.py https://sqs.eu-central-1.amazonaws.com/444455556666/search-events

Replace `process`. Three rules make it correct:

- Delete a message only after its events are processed: what is not deleted comes again.
- An event may come twice, and in any order. So read the object as it is now, and let its etag decide whether you have
  processed it. Keep the etags where your results are, not in memory as here.
- An object that is gone is not an error: it was removed after the event.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote_plus

import boto3
from botocore.exceptions import ClientError


def process(event_type: str, key: str, body: bytes) -> None:
    """Do your work with an object."""
    print(json.dumps({"type": event_type, "key": key, "bytes": len(body)}), flush=True)


class Consumer:
    """Receives messages until it is stopped, or until no message has come for a while.

    Args:
        queue: URL of the queue.
        idle: seconds without a message after which it ends. 0: it does not end.
    """

    def __init__(self, queue: str, idle: float = 0) -> None:
        self._queue, self._idle = queue, idle
        self._sqs, self._s3 = boto3.client("sqs"), boto3.client("s3")
        self._done: dict[tuple[str, str], str] = {}
        self._stopped = False

    def stop(self, *_: object) -> None:
        """End after the message that is being processed."""
        self._stopped = True

    def run(self) -> None:
        """Process messages. A message whose processing fails is not deleted: SQS delivers it again."""
        last = time.monotonic()
        while not self._stopped and not (self._idle and time.monotonic() - last > self._idle):
            answer = self._sqs.receive_message(
                QueueUrl=self._queue, MaxNumberOfMessages=10, WaitTimeSeconds=2, MessageAttributeNames=["event_type"]
            )
            for message in answer.get("Messages", []):
                if self._stopped:
                    return
                last = time.monotonic()
                try:
                    self._take(message)
                except Exception as error:
                    print(f"message {message['MessageId']} is left in the queue: {error}", file=sys.stderr, flush=True)
                    continue
                self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])

    def _take(self, message: Mapping[str, Any]) -> None:
        attributes, text = message.get("MessageAttributes", {}), str(message["Body"])
        event_type = attributes.get("event_type", {}).get("StringValue", "")
        content = json.loads(text)
        if "TopicArn" in content:  # the subscription has no raw delivery
            event_type = content.get("MessageAttributes", {}).get("event_type", {}).get("Value", "")
            content = json.loads(content["Message"])
        for bucket, key in objects_of(content):
            try:
                found = self._s3.get_object(Bucket=bucket, Key=key)
            except ClientError as error:
                if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
                    continue
                raise
            with found["Body"] as body:
                if self._done.get((bucket, key)) != found["ETag"]:
                    process(event_type, key, body.read())
                    self._done[bucket, key] = found["ETag"]


def objects_of(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield bucket and key of each object of an S3 notification, or of an S3 event of EventBridge."""
    if "detail" in content:
        yield content["detail"]["bucket"]["name"], content["detail"]["object"]["key"]
    for record in content.get("Records", []):
        # The key of a notification is encoded as in a query of a URL. That of EventBridge is not.
        yield record["s3"]["bucket"]["name"], unquote_plus(record["s3"]["object"]["key"])


def main() -> None:
    """Run the consumer until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(description="Process the events of a Tidegate route.")
    parser.add_argument("queue", help="URL of your queue")
    parser.add_argument("--idle", type=float, default=0, help="end after so many seconds without a message; 0: never")
    given = parser.parse_args()
    consumer = Consumer(given.queue, given.idle)
    signal.signal(signal.SIGTERM, consumer.stop)
    signal.signal(signal.SIGINT, consumer.stop)
    consumer.run()


if __name__ == "__main__":
    main()
