"""An SQS queue: long-polled receives within a budget, and batch calls with checked answers."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from tidegate.platform.core.events.row_queue import RowOrigin
from tidegate.platform.lake.aws.batch_calls import MAX_PER_CALL, failed_entries
from tidegate.platform.lake.aws.drain import Drain, DrainLimits, HeldMessages
from tidegate.platform.lake.aws.message import (
    IDENTITY,
    Message,
    identity_attributes,
    received_message,
    to_sqs_attributes,
)

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from tidegate.platform.lake.aws.clients import Aws

#: Seconds of long polling. A receiver that finds nothing in them ends.
_POLL = 1


@dataclass(frozen=True)
class Depth:
    """SQS's approximate counts of a queue's messages.

    Attributes:
        waiting: messages that can be received.
        in_flight: messages that were received and not deleted yet.
        dead_letters: name of the dead-letter queue; empty if there is none.
    """

    waiting: int
    in_flight: int
    dead_letters: str = ""


_ALONE = DrainLimits()


class Queue:
    """One SQS standard queue.

    Args:
        client: boto3 client.
        address: the queue's URL, or its name in the account and region of the credentials.
        urls: cache of URLs by name; new lookups are added.
        neighbour: a queue of the same account and region, whose URL gives this one's: not every role may look it up.
    """

    def __init__(
        self,
        client: SQSClient,
        address: str,
        urls: dict[str, str] | None = None,
        neighbour: Queue | None = None,
    ) -> None:
        self._client = client
        self._address = address
        self._urls = {} if urls is None else urls
        self._neighbour = neighbour

    @property
    def url(self) -> str:
        """The queue's URL. A name is looked up at first use, because most runs never use the queue."""
        if "/" in self._address:
            return self._address
        if self._neighbour:
            return f"{self._neighbour.url.rstrip('/').rpartition('/')[0]}/{self._address}"
        if self._address not in self._urls:
            self._urls[self._address] = self._client.get_queue_url(QueueName=self._address)["QueueUrl"]
        return self._urls[self._address]

    @property
    def name(self) -> str:
        """The queue's name."""
        return self._address.rstrip("/").rsplit("/", 1)[-1]

    @cached_property
    def visibility(self) -> int:
        """Seconds that a received message stays hidden by the queue's settings. Asked for once."""
        asked = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=["VisibilityTimeout"])
        return int(asked["Attributes"].get("VisibilityTimeout", 0))

    def drain(
        self,
        *,
        seconds: float,
        messages: int,
        threads: int,
        patience: int = _POLL,
        hold: float = 0.0,
        limits: DrainLimits = _ALONE,
        attributes: Sequence[str] = (),
    ) -> Generator[list[Message]]:
        """Receive until the queue looks empty or the budget is spent.

        Yields the received messages in chunks of a few thousand, or fewer if bodies are large, while more are received.
        The caller deletes the messages of a chunk. Until then they stay hidden from other consumers. Close the
        iterator to stop.

        Args:
            seconds: time budget of the receives.
            messages: count budget. Each thread may exceed it by 10.
            threads: receivers, after a first receive has found messages.
            patience: seconds that the first receive waits for a message. It ends with the first message.
            hold: seconds from now for which received messages that are not processed stay hidden, however short the
                queue's timeout is. After that they come back at the queue's own timeout, as if this process had died.
            limits: limits of this drain, shared with others.
            attributes: names of message attributes to receive.

        Raises:
            Exception: the error of a receive, after all received messages were yielded.
        """
        with closing(HeldMessages(self.hide, lambda: self.visibility, hold)) as hidden:
            yield from self._drain(hidden, seconds, messages, threads, patience, limits, attributes)

    def _drain(
        self,
        hidden: HeldMessages[Message],
        seconds: float,
        messages: int,
        threads: int,
        patience: int,
        limits: DrainLimits,
        attributes: Sequence[str],
    ) -> Generator[list[Message]]:
        deadline = time.monotonic() + seconds

        def receive_messages(wait: int, left: float) -> list[Message]:
            answer = self._client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=MAX_PER_CALL,
                WaitTimeSeconds=min(wait, int(left)),
                AttributeNames=["SentTimestamp"],
                MessageAttributeNames=[*IDENTITY, *attributes],
            )
            batch = [received_message(item) for item in answer.get("Messages", [])]
            if batch:
                hidden.add(batch)
            return batch

        # A long poll asks all of SQS's servers, so one receiver learns as much about an idle queue as many.
        first = receive_messages(patience, seconds) if seconds > 0 else []
        if not first:
            return
        drain = Drain(
            lambda left: receive_messages(_POLL, left),
            first,
            deadline=deadline,
            messages=messages,
            threads=threads,
            limits=limits,
        )
        with closing(drain.chunks()) as chunks:
            for chunk in chunks:
                yield chunk
                hidden.remove(chunk)

    def receive(self, *, hidden: int, wait: int = 1) -> list[Message]:
        """Receive a few messages with all of their attributes; none if the queue looks empty.

        Args:
            hidden: seconds until others may receive them, unless they are deleted.
            wait: seconds of long polling.
        """
        answer = self._client.receive_message(
            QueueUrl=self.url,
            MaxNumberOfMessages=MAX_PER_CALL,
            WaitTimeSeconds=wait,
            VisibilityTimeout=hidden,
            MessageAttributeNames=["All"],
            AttributeNames=["SentTimestamp"],
        )
        return [received_message(item) for item in answer.get("Messages", [])]

    def delete(self, messages: Iterable[Message]) -> int:
        """Delete messages. Returns the number of failed deletes.

        A message that is left comes back after the visibility timeout and is a duplicate then. A failure loses nothing.
        """
        entries = [{"ReceiptHandle": message.receipt} for message in messages]
        return len(failed_entries(self._client.delete_message_batch, self.url, entries))

    def hide(self, messages: Iterable[Message], seconds: int) -> int:
        """Set the visibility timeout of received messages, in seconds; 0 releases them. Returns how many SQS refused.

        SQS also refuses messages that were deleted in the meantime, which is not an error.
        """
        entries = [{"ReceiptHandle": message.receipt, "VisibilityTimeout": seconds} for message in messages]
        return len(failed_entries(self._client.change_message_visibility_batch, self.url, entries))

    def send_again(self, messages: Sequence[Message]) -> dict[str, str]:
        """Send messages again with their body, their attributes and, if they have one, the identity of their row.

        Args:
            messages: as received, with all of their attributes.

        Returns:
            The new id of each sent message, by its old id.
        """
        sent: dict[str, str] = {}

        def note(answer: Any) -> None:
            sent.update((messages[int(entry["Id"])].id, entry["MessageId"]) for entry in answer.get("Successful", []))

        own = [identity_attributes(message.first) if message.first else {} for message in messages]
        attributes = [{**message.attributes, **first} for message, first in zip(messages, own, strict=True)]
        entries = [
            {"MessageBody": message.body, **({"MessageAttributes": added} if added else {})}
            for message, added in zip(messages, attributes, strict=True)
        ]
        sizes = [
            len(message.body.encode(errors="replace")) + len(str(added))
            for message, added in zip(messages, attributes, strict=True)
        ]
        failed_entries(self._client.send_message_batch, self.url, entries, sizes, note)
        return sent

    def send_rows(self, rows: Sequence[tuple[str, RowOrigin]]) -> list[str]:
        """Send up to ten rows with their identities, in one call.

        Args:
            rows: the text and the identity of each. Together they have no more bytes than SQS accepts.

        Returns:
            For each row, SQS's error code; empty if SQS has stored it.

        Raises:
            ClientError: SQS refused all of them.
            BotoCoreError: SQS did not answer. It may have stored them.
        """
        if len(rows) == 1:
            # The sender of a lone row waits for this call, and SQS and its client take longer for a call of many.
            self.send(*rows[0])
            return [""]
        entries = [
            {"Id": str(place), "MessageBody": text, "MessageAttributes": identity_attributes(origin)}
            for place, (text, origin) in enumerate(rows)
        ]
        answer = self._client.send_message_batch(QueueUrl=self.url, Entries=entries)  # type: ignore[arg-type]
        stored = {entry["Id"] for entry in answer.get("Successful", [])}
        failed = {entry["Id"]: entry.get("Code") or "unknown" for entry in answer.get("Failed", [])}
        return ["" if str(place) in stored else failed.get(str(place), "unknown") for place in range(len(rows))]

    def require_sending(self) -> None:
        """Check that the queue answers and lets this process send. Sends nothing.

        Raises:
            ClientError: it does not let this process send, or does not exist.
            BotoCoreError: SQS did not answer.
        """
        try:
            self._client.send_message_batch(QueueUrl=self.url, Entries=[])
        except ClientError as error:
            # SQS refuses an empty call after it has checked the permission.
            if "EmptyBatchRequest" not in error.response.get("Error", {}).get("Code", ""):
                raise

    def send(self, body: str, first: RowOrigin | None = None, attributes: Mapping[str, Any] | None = None) -> None:
        """Send a message.

        Args:
            body: its text.
            first: id and time of the first arrival, for a row queue's message that is sent again.
            attributes: those that its first sender added, for a message that is sent again.
        """
        added = {**to_sqs_attributes(attributes or {}), **(identity_attributes(first) if first else {})}
        self._client.send_message(QueueUrl=self.url, MessageBody=body, MessageAttributes=added)

    def depth(self) -> tuple[int, int]:
        """Return approximate numbers of messages waiting and in flight."""
        found = self.depths()
        return found.waiting, found.in_flight

    def depths(self) -> Depth:
        """Return approximate numbers of messages, and the name of the dead-letter queue."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "RedrivePolicy"]
        found = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]  # type: ignore[arg-type]
        policy = json.loads(found.get("RedrivePolicy") or "{}")
        dead_letters = str(policy.get("deadLetterTargetArn", "")).rpartition(":")[2]
        return Depth(int(found[names[0]]), int(found[names[1]]), dead_letters)  # type: ignore[index]

    def sibling(self, name: str) -> Queue:
        """Return another queue of the same account and region, such as the dead-letter queue. Sends no request."""
        return Queue(self._client, name, self._urls, self)


@cache
def queue_urls(aws: Aws, endpoint: str) -> dict[str, str]:
    """Return the URLs that this process has looked up with these credentials at this endpoint.

    A queue keeps its URL.
    """
    return {}
