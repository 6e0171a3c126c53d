"""Does what the services of the demo's company do: puts objects, and sends messages to the lake's queue."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlsplit

from tidegate.platform.demo.events.producers import BARRIER, BUCKET, Operation

_THREADS = 6


class EventsUploader:
    """Does operations in parallel, and counts the events that they cause.

    It puts objects by plain HTTP, because the local AWS verifies no signature: boto3 takes eight times the CPU for an
    object, and the pipeline waits for that CPU.

    Args:
        endpoint: URL of the local AWS.
        sqs: the boto3 client of SQS.
        queue_url: the queue that the bucket notifies.

    Attributes:
        sent: number of operations that were done. It grows while `upload` runs.
    """

    def __init__(self, endpoint: str, sqs: Any, queue_url: str) -> None:
        self._host, self._sqs, self._queue_url = urlsplit(endpoint).netloc, sqs, queue_url
        self._lock, self._own = threading.Lock(), threading.local()
        self.sent = 0

    def upload(self, operations: Sequence[Operation], going_on: Callable[[], bool] = lambda: True) -> None:
        """Do all operations.

        Args:
            operations: what `produce_events` yields.
            going_on: asked between some hundred operations; False ends the upload.

        Raises:
            RuntimeError: an object could not be put.
        """
        with ThreadPoolExecutor(_THREADS) as pool:
            for start in range(0, len(operations), BARRIER):
                if not going_on():
                    return
                for _ in pool.map(self._do, operations[start : start + BARRIER]):
                    pass

    def _do(self, operation: Operation) -> None:
        if operation["op"] == "put":
            self._put(operation["key"], operation["body"].encode())
        else:
            self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=operation["body"])
        with self._lock:
            self.sent += 1

    def _put(self, key: str, body: bytes) -> None:
        for is_new in (False, True):
            if is_new or not hasattr(self._own, "connection"):
                self._own.connection = http.client.HTTPConnection(self._host, timeout=60)
            connection = self._own.connection
            try:
                connection.request("PUT", f"/{BUCKET}/{quote(key, safe='/=')}", body)
                answer = connection.getresponse()
                content = answer.read()
                break
            except ConnectionError:
                # The server closed a connection that was idle for too long.
                if is_new:
                    raise
        if answer.status != http.client.OK:
            raise RuntimeError(f"s3://{BUCKET}/{key}: status {answer.status}: {content[:500]!r}")
