"""An SQS queue: long-polled receives within a budget, and batch calls with checked answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from tidegate.platform.core.events.row_message import RowOrigin, identified
from tidegate.resources.aws.answers import is_of_one_message
from tidegate.resources.aws.drain import Drain, DrainLimits
from tidegate.resources.aws.held_messages import HeldMessages

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

    from tidegate.resources.aws.clients import Aws

_MAX_PER_CALL = 10  # SQS's limit for receives and calls on many messages
#: Bytes of bodies and attributes that one call may send. SQS takes a larger message in a call of its own.
_MAX_BYTES = 200_000
_ATTEMPTS = 3
#: Seconds of long polling. A receiver that finds nothing in them ends.
_POLL = 1
#: Attributes of a message that has its identity with it, because it is sent again or is a webhook's: its id, its time,
#: and the earliest time of an equal message.
_FIRST_ID, _FIRST_SENT, _FIRST_SINCE = "tidegate-message-id", "tidegate-sent-at", "tidegate-sent-since"
_MAX_DIGITS = 18


@dataclass(frozen=True)
class Message:
    """A received message.

    Attributes:
        receipt: the handle that a delete needs.
        sent_at: epoch milliseconds, equal at each delivery of the message; 0 if the queue does not give it.
        first: the identity that the message has with it: that of its first arrival, or a webhook's.
        attributes: the attributes that its sender added, as SQS gives them, as far as they were requested.
    """

    id: str
    body: str
    receipt: str
    sent_at: int = 0
    first: RowOrigin | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def origin(self) -> RowOrigin:
        """The id and time that identify the message, unless it is in the envelope of its queue's topic."""
        return self.first or RowOrigin(self.id, self.sent_at)

    def identified(self, topic: str | None) -> Message:
        """Return a row queue's message with its row's text and identity, as `identified` of `row_message` does."""
        body, first = identified(self.body, RowOrigin(self.id, self.sent_at), self.first, topic)
        return replace(self, body=body, first=first)


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

        def received(wait: int, left: float) -> list[Message]:
            answer = self._client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=_MAX_PER_CALL,
                WaitTimeSeconds=min(wait, int(left)),
                AttributeNames=["SentTimestamp"],
                MessageAttributeNames=[_FIRST_ID, _FIRST_SENT, _FIRST_SINCE, *attributes],
            )
            batch = [_message(item) for item in answer.get("Messages", [])]
            if batch:
                hidden.add(batch)
            return batch

        # A long poll asks all of SQS's servers, so one receiver learns as much about an idle queue as many.
        first = received(patience, seconds) if seconds > 0 else []
        if not first:
            return
        drain = Drain(
            lambda left: received(_POLL, left),
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
            MaxNumberOfMessages=_MAX_PER_CALL,
            WaitTimeSeconds=wait,
            VisibilityTimeout=hidden,
            MessageAttributeNames=["All"],
            AttributeNames=["SentTimestamp"],
        )
        return [_message(item) for item in answer.get("Messages", [])]

    def delete(self, messages: Iterable[Message]) -> int:
        """Delete messages. Returns the number of failed deletes.

        A message that is left comes back after the visibility timeout and is a duplicate then. A failure loses nothing.
        """
        entries = [{"ReceiptHandle": message.receipt} for message in messages]
        return len(self._failed_entries(self._client.delete_message_batch, entries))

    def hide(self, messages: Iterable[Message], seconds: int) -> int:
        """Set the visibility timeout of received messages, in seconds; 0 releases them. Returns how many SQS refused.

        SQS also refuses messages that were deleted in the meantime, which is no error.
        """
        entries = [{"ReceiptHandle": message.receipt, "VisibilityTimeout": seconds} for message in messages]
        return len(self._failed_entries(self._client.change_message_visibility_batch, entries))

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

        carried = [_carried(message.first) if message.first else {} for message in messages]
        attributes = [{**message.attributes, **own} for message, own in zip(messages, carried, strict=True)]
        entries = [
            {"MessageBody": message.body, **({"MessageAttributes": added} if added else {})}
            for message, added in zip(messages, attributes, strict=True)
        ]
        sizes = [
            len(message.body.encode(errors="replace")) + len(str(added))
            for message, added in zip(messages, attributes, strict=True)
        ]
        self._failed_entries(self._client.send_message_batch, entries, sizes, note)
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
            {"Id": str(place), "MessageBody": text, "MessageAttributes": _carried(origin)}
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

    def send(self, body: str, first: RowOrigin | None = None) -> None:
        """Send a message.

        Args:
            body: its text.
            first: id and time of the first arrival, for a row queue's message that is sent again.
        """
        attributes = _carried(first) if first else {}
        self._client.send_message(QueueUrl=self.url, MessageBody=body, MessageAttributes=attributes)

    def depth(self) -> tuple[int, int]:
        """Approximate numbers of messages waiting and in flight."""
        found = self.depths()
        return found.waiting, found.in_flight

    def depths(self) -> Depth:
        """Approximate numbers of messages, and the name of the dead-letter queue."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "RedrivePolicy"]
        found = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]  # type: ignore[arg-type]
        policy = json.loads(found.get("RedrivePolicy") or "{}")
        dead_letters = str(policy.get("deadLetterTargetArn", "")).rpartition(":")[2]
        return Depth(int(found[names[0]]), int(found[names[1]]), dead_letters)  # type: ignore[index]

    def beside(self, name: str) -> Queue:
        """Another queue of the same account and region, such as the dead-letter queue. Sends no request."""
        return Queue(self._client, name, self._urls, self)

    def _failed_entries(
        self,
        call: Callable[..., Any],
        entries: Sequence[Mapping[str, Any]],
        sizes: Sequence[int] = (),
        note: Callable[[Any], None] = lambda _: None,
    ) -> list[int]:
        """Call for many entries, and repeat failed ones. Returns the positions of those that failed each time."""
        parts: list[list[int]] = []
        size = 0
        for place in range(len(entries)):
            size += sizes[place] if sizes else 0
            if not parts or len(parts[-1]) == _MAX_PER_CALL or size > _MAX_BYTES:
                parts.append([])
                size = sizes[place] if sizes else 0
            parts[-1].append(place)
        if not parts:
            return []

        def repeatedly(left: list[int]) -> list[int]:
            for _ in range(_ATTEMPTS):
                try:
                    answer = call(QueueUrl=self.url, Entries=[{"Id": str(place), **entries[place]} for place in left])
                except ClientError as error:
                    if not is_of_one_message(error):
                        raise
                    return left if len(left) == 1 else [failed for place in left for failed in repeatedly([place])]
                note(answer)
                left = [int(item["Id"]) for item in answer.get("Failed", [])]
                if not left:
                    break
            return left

        with ThreadPoolExecutor(min(8, len(parts))) as pool:
            try:
                return [place for failed in pool.map(repeatedly, parts) for place in failed]
            except BaseException:
                # The rest would fail as well, each after its client's timeouts.
                pool.shutdown(wait=False, cancel_futures=True)
                raise


@cache
def queue_urls(aws: Aws, endpoint: str) -> dict[str, str]:
    """The URLs that this process has looked up with these credentials at this endpoint. A queue keeps its URL."""
    return {}


def _message(item: Mapping[str, Any]) -> Message:
    sent = int(item.get("Attributes", {}).get("SentTimestamp", 0))
    attributes = item.get("MessageAttributes", {})
    return Message(item["MessageId"], item["Body"], item["ReceiptHandle"], sent, _first(attributes), attributes)


def _carried(origin: RowOrigin) -> dict[str, Any]:
    values = {_FIRST_ID: origin.message_id, _FIRST_SENT: str(origin.sent_at)}
    if origin.since is not None:
        values[_FIRST_SINCE] = str(origin.since)
    return {name: {"DataType": "String", "StringValue": value} for name, value in values.items()}


def _first(attributes: Mapping[str, Any]) -> RowOrigin | None:
    values = {name: value.get("StringValue", "") for name, value in attributes.items()}
    id, sent, since = values.get(_FIRST_ID, ""), _millis(values.get(_FIRST_SENT)), _millis(values.get(_FIRST_SINCE))
    return RowOrigin(id, sent, since) if id and sent is not None else None


def _millis(text: str | None) -> int | None:
    # Python refuses to read a number of thousands of digits.
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None
