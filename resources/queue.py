"""An SQS queue: long-polled receives within a budget, and deletes that are checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_MOST_PER_CALL = 10  # SQS's limit for receives and batch deletes
_DELETE_ATTEMPTS = 3


@dataclass(frozen=True)
class Message:
    """A received message; the receipt is what a delete needs."""

    id: str
    body: str
    receipt: str


class Queue:
    """One SQS standard queue.

    Args:
        client: boto3 client.
        address: the queue's URL, or its name in the account and region of the credentials.
    """

    def __init__(self, client: SQSClient, address: str) -> None:
        self._client = client
        self._address = address

    @cached_property
    def url(self) -> str:
        """The queue's URL; a name is looked up at first use, for most runs never touch the queue."""
        if "/" in self._address:
            return self._address
        return self._client.get_queue_url(QueueName=self._address)["QueueUrl"]

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._address.rstrip("/").rsplit("/", 1)[-1]

    def drain(self, *, seconds: float, messages: int, threads: int, wait: int = 1) -> list[Message]:
        """Receive until the queue looks empty or the budget is spent.

        Args:
            seconds: time budget.
            messages: count budget; threads may overshoot it by 10 each.
            threads: receivers.
            wait: seconds of long polling; an empty long poll ends its thread.
        """
        deadline = time.monotonic() + seconds
        found: list[Message] = []
        lock = threading.Lock()

        def receive() -> None:
            while (left := deadline - time.monotonic()) > 0 and len(found) < messages:
                answer = self._client.receive_message(
                    QueueUrl=self.url,
                    MaxNumberOfMessages=_MOST_PER_CALL,
                    WaitTimeSeconds=min(wait, int(left)),
                )
                batch = [
                    Message(item["MessageId"], item["Body"], item["ReceiptHandle"])
                    for item in answer.get("Messages", [])
                ]
                if not batch:
                    return
                with lock:
                    found.extend(batch)

        with ThreadPoolExecutor(threads) as pool:
            for future in [pool.submit(receive) for _ in range(threads)]:
                future.result()
        return found

    def delete(self, messages: Iterable[Message]) -> int:
        """Delete messages; how many could not be.

        What is left comes back after the visibility timeout and is a duplicate then, so a failure loses nothing.
        """
        todo = list(messages)
        chunks = [todo[i : i + _MOST_PER_CALL] for i in range(0, len(todo), _MOST_PER_CALL)]
        if not chunks:
            return 0
        with ThreadPoolExecutor(min(8, len(chunks))) as pool:
            return sum(pool.map(self._delete_chunk, chunks))

    def send(self, body: str) -> None:
        """Send a message."""
        self._client.send_message(QueueUrl=self.url, MessageBody=body)

    def depth(self) -> tuple[int, int]:
        """Approximate numbers of messages waiting and in flight."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]  # type: ignore[arg-type]
        return int(found[names[0]]), int(found[names[1]])  # type: ignore[index]

    def _delete_chunk(self, chunk: list[Message]) -> int:
        left = {str(i): message for i, message in enumerate(chunk)}
        for _ in range(_DELETE_ATTEMPTS):
            answer = self._client.delete_message_batch(
                QueueUrl=self.url,
                Entries=[{"Id": i, "ReceiptHandle": message.receipt} for i, message in left.items()],
            )
            left = {item["Id"]: left[item["Id"]] for item in answer.get("Failed", [])}
            if not left:
                return 0
        return len(left)
