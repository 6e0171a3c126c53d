"""An SQS queue: long-polled receives within a budget, and deletes that are checked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidegate.platform.core.row_message import RowOrigin

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_MOST_PER_CALL = 10  # SQS's limit for receives and batch deletes
_DELETE_ATTEMPTS = 3
#: Attributes of a message that is sent again: what it was when it came first.
_FIRST_ID, _FIRST_SENT = "tidegate-message-id", "tidegate-sent-at"
#: Messages that are worth being worked off while more are received: fewer would make many small manifests.
_CHUNK = 4000
#: Received messages that wait for that, at most: their visibility runs out, and so does the tick's time.
_MOST_HELD = 2 * _CHUNK


@dataclass(frozen=True)
class Message:
    """A received message; the receipt is what a delete needs.

    Attributes:
        sent_at: epoch milliseconds, the same however often the message comes; 0 where the queue does not say it.
        first: what it was when it came first, of a message that was sent again.
    """

    id: str
    body: str
    receipt: str
    sent_at: int = 0
    first: RowOrigin | None = None

    @property
    def origin(self) -> RowOrigin:
        """What tells the message from every other one."""
        return self.first or RowOrigin(self.id, self.sent_at)


@dataclass(frozen=True)
class Depth:
    """SQS's approximate counts of a queue's messages.

    Attributes:
        waiting: can be received.
        in_flight: were received and not deleted yet.
        dead_letters: name of its dead-letter queue; empty where there is none.
    """

    waiting: int
    in_flight: int
    dead_letters: str = ""


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

    def drain(self, *, seconds: float, messages: int, threads: int, wait: int = 1) -> Generator[list[Message]]:
        """Receive until the queue looks empty or the budget is spent.

        What has come in is given out by thousands, while more is received: whoever takes it deletes it meanwhile.
        Close the iterator to stop.

        Args:
            seconds: time budget of the receives.
            messages: count budget; threads may overshoot it by 10 each.
            threads: receivers.
            wait: seconds of long polling; an empty long poll ends its thread.

        Raises:
            Exception: what a receive raised, once everything that did come in was given out.
        """
        deadline = time.monotonic() + seconds
        held: list[Message] = []
        changed = threading.Condition()
        total, working, closed = 0, threads, False

        def receive() -> None:
            nonlocal total, working
            try:
                while (left := deadline - time.monotonic()) > 0 and total < messages and not closed:
                    answer = self._client.receive_message(
                        QueueUrl=self.url,
                        MaxNumberOfMessages=_MOST_PER_CALL,
                        WaitTimeSeconds=min(wait, int(left)),
                        AttributeNames=["SentTimestamp"],
                        MessageAttributeNames=[_FIRST_ID, _FIRST_SENT],
                    )
                    batch = [_message(item) for item in answer.get("Messages", [])]
                    if not batch:
                        return
                    with changed:
                        held.extend(batch)
                        total += len(batch)
                        changed.notify_all()
                        changed.wait_for(lambda: len(held) < _MOST_HELD or closed)
            finally:
                with changed:
                    working -= 1
                    changed.notify_all()

        with ThreadPoolExecutor(threads) as pool:
            receivers = [pool.submit(receive) for _ in range(threads)]
            try:
                while working or held:
                    with changed:
                        changed.wait_for(lambda: len(held) >= _CHUNK or not working)
                        chunk, held[:] = held[:], []
                        changed.notify_all()
                    if chunk:
                        yield chunk
            finally:
                with changed:
                    closed = True
                    changed.notify_all()
        for receiver in receivers:
            receiver.result()

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

    def send_again(self, body: str, origin: RowOrigin) -> None:
        """Send a message that carries what it was when it came first."""
        self._client.send_message(
            QueueUrl=self.url,
            MessageBody=body,
            MessageAttributes={
                _FIRST_ID: {"DataType": "String", "StringValue": origin.message_id},
                _FIRST_SENT: {"DataType": "String", "StringValue": str(origin.sent_at)},
            },
        )

    def depth(self) -> tuple[int, int]:
        """Approximate numbers of messages waiting and in flight."""
        found = self.depths()
        return found.waiting, found.in_flight

    def depths(self) -> Depth:
        """How many messages there are, and where those go that nobody could take."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "RedrivePolicy"]
        found = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]  # type: ignore[arg-type]
        policy = json.loads(found.get("RedrivePolicy") or "{}")
        dead_letters = str(policy.get("deadLetterTargetArn", "")).rpartition(":")[2]
        return Depth(int(found[names[0]]), int(found[names[1]]), dead_letters)  # type: ignore[index]

    def beside(self, name: str) -> Queue:
        """Another queue of the same account and region, as a dead-letter queue has to be."""
        return Queue(self._client, f"{self.url.rpartition('/')[0]}/{name}")

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


def _message(item: Mapping[str, Any]) -> Message:
    sent = int(item.get("Attributes", {}).get("SentTimestamp", 0))
    return Message(item["MessageId"], item["Body"], item["ReceiptHandle"], sent, _first(item))


def _first(item: Mapping[str, Any]) -> RowOrigin | None:
    told = {name: value.get("StringValue", "") for name, value in item.get("MessageAttributes", {}).items()}
    first, sent = told.get(_FIRST_ID, ""), told.get(_FIRST_SENT, "")
    return RowOrigin(first, int(sent)) if first and sent.isascii() and sent.isdigit() else None
