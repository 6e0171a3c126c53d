"""Runs the operations of a plan on the run's bucket and queue, and notes when and with which etag."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tidegate.platform.demo.operations import notification
from tidegate.platform.prove.plan import Operation

_THREADS = 8
#: Seconds between two files of a trickle.
_TRICKLE = 0.25


@dataclass
class Sent:
    """What the queue should have received.

    Attributes:
        message_ids: of the messages that were sent to the queue.
        changed: the key of each change of the bucket that the bucket itself should have notified.
    """

    message_ids: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


class Producers:
    """The producers of a run.

    Args:
        s3: client of boto3.
        sqs: client of boto3.
        bucket: where the files go.
        queue_url: the queue that the bucket notifies.
        notifies: whether the bucket notifies the queue. If not, this sends the notifications.
    """

    def __init__(self, s3: Any, sqs: Any, bucket: str, queue_url: str, *, notifies: bool) -> None:
        self._s3, self._sqs, self._bucket, self._queue_url, self._notifies = s3, sqs, bucket, queue_url, notifies
        #: Of each key that exists, its etag; and when its PUT had ended, in epoch seconds.
        self.etags: dict[str, str] = {}
        self.put_at: dict[str, float] = {}
        self.sent = Sent()
        self._sent = 0

    def run(self, operations: Iterable[Operation], step: Callable[[], None] = lambda: None) -> None:
        """Run operations in parallel. What is sent to the queue by hand follows."""
        every = list(operations)
        on_bucket = [each for each in every if each.op in ("put", "delete")]
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(self._change, on_bucket):
                step()
        for each in every:
            if each.op in ("notice", "message"):
                self._send(each)
                step()

    def trickle(self, operations: Iterable[Operation], step: Callable[[], None] = lambda: None) -> None:
        """Run operations one after another, with a pause after each: for latencies of single files."""
        for each in operations:
            self._change(each)
            step()
            time.sleep(_TRICKLE)

    def _change(self, operation: Operation) -> None:
        key = operation.key
        if operation.op == "put":
            answer = self._s3.put_object(Bucket=self._bucket, Key=key, Body=operation.body)
            self.etags[key], self.put_at[key] = answer["ETag"].strip('"'), time.time()
            event = "ObjectCreated:Put"
        else:
            self._s3.delete_object(Bucket=self._bucket, Key=key)
            event = "ObjectRemoved:Delete"
        if self._notifies:
            self.sent.changed.append(key)
        else:
            self._send(Operation(operation.wave, "notice", key, event=event))

    def _send(self, operation: Operation) -> None:
        body = operation.body.decode()
        if operation.op == "notice":
            self._sent += 1
            known = {"n": self._sent, "etag": self.etags.get(operation.key, "0" * 32)}
            bucket = operation.bucket or self._bucket
            body = json.dumps({"Records": [notification(bucket, operation.key, operation.event, known)]})
        sent = self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=body)
        self.sent.message_ids.append(sent["MessageId"])
