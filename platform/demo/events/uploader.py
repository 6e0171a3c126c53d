"""Does what the services of the demo's company do: puts objects, and sends messages to the lake's queue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tidegate.platform.demo.events.producers import BARRIER, BUCKET, Operation

_THREADS = 6


class EventsUploader:
    """Does operations in parallel, and counts the events that they cause.

    Args:
        s3: the boto3 client of S3.
        sqs: the boto3 client of SQS.
        queue_url: the queue that the bucket notifies.

    Attributes:
        sent: number of operations that were done. It grows while `upload` runs.
    """

    def __init__(self, s3: Any, sqs: Any, queue_url: str) -> None:
        self._s3, self._sqs, self._queue_url = s3, sqs, queue_url
        self._lock = threading.Lock()
        self.sent = 0

    def upload(self, operations: Sequence[Operation], going_on: Callable[[], bool] = lambda: True) -> None:
        """Do all operations.

        Args:
            operations: what `produce_events` yields.
            going_on: asked between some hundred operations; False ends the upload.
        """
        with ThreadPoolExecutor(_THREADS) as pool:
            for start in range(0, len(operations), BARRIER):
                if not going_on():
                    return
                for _ in pool.map(self._do, operations[start : start + BARRIER]):
                    pass

    def _do(self, operation: Operation) -> None:
        if operation["op"] == "put":
            self._s3.put_object(Bucket=BUCKET, Key=operation["key"], Body=operation["body"].encode())
        else:
            self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=operation["body"])
        with self._lock:
            self.sent += 1
