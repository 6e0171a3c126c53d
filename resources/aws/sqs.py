"""An SQS queue: long-polled receives within a budget, and calls on many messages whose answers are checked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidegate.platform.core.events.row_message import RowOrigin
from tidegate.resources.aws.held_messages import HeldMessages

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_MOST_PER_CALL = 10  # SQS's limit for receives and calls on many messages
#: What a call may send at once, in bytes of bodies and attributes; SQS takes a larger message, but alone.
_MOST_BYTES = 200_000
_ATTEMPTS = 3
#: Seconds of long polling; what finds nothing in it ends.
_POLL = 1
#: Attributes of a message that is sent again: what it was when it came first.
_FIRST_ID, _FIRST_SENT = "tidegate-message-id", "tidegate-sent-at"
#: Messages that are worth being worked off while more are received: fewer would make many small manifests. Twice as
#: many are held at most: their visibility runs out, and so does the tick's time.
_CHUNK = 4000
#: Characters of bodies that are worth it, whatever their number; twice as many are held at most. A body has up to a
#: million.
_CHUNK_SIZE = 16 << 20


@dataclass(frozen=True)
class Message:
    """A received message.

    Attributes:
        receipt: what a delete needs.
        sent_at: epoch milliseconds, the same however often the message comes; 0 where the queue does not say it.
        first: what it was when it came first, of a message that was sent again.
        attributes: what its sender put beside the body, as SQS gives it; only where all of it was asked for.
    """

    id: str
    body: str
    receipt: str
    sent_at: int = 0
    first: RowOrigin | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)

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


class Turn:
    """How far a drain goes beyond a first receive that brought something; this one is alone, and has no limits.

    Attributes:
        part: what is held at a time is this part of what one drain alone may hold.
    """

    part = 1

    def place(self) -> AbstractContextManager[None]:
        """Entered before more is received, and left when all of it is worked off."""
        return nullcontext()

    def goes_on(self, received: int) -> bool:
        """Whether more may be received, after so many messages."""
        return True


_ALONE = Turn()


class Queue:
    """One SQS standard queue.

    Args:
        client: boto3 client.
        address: the queue's URL, or its name in the account and region of the credentials.
        urls: URLs by name that were looked up before; what is looked up is added.
        neighbour: a queue of the same account and region, whose URL tells this one's: that of a dead-letter queue may
            not be asked for by every role.
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
        """The queue's URL; a name is looked up at first use, for most runs never touch the queue."""
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
        """Seconds that a received message stays hidden, as the queue is set; asked for once."""
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
        turn: Turn = _ALONE,
    ) -> Generator[list[Message]]:
        """Receive until the queue looks empty or the budget is spent.

        What has come in is given out in chunks of a few thousand messages, or fewer where bodies are large, while more
        is received: whoever takes it deletes it meanwhile. Until then it stays hidden from other consumers. Close the
        iterator to stop.

        Args:
            seconds: time budget of the receives.
            messages: count budget; threads may overshoot it by 10 each.
            threads: receivers, once a first receive has found something.
            patience: seconds that the first receive waits for a message. It ends with the first one to come.
            hold: seconds from now for which what was received and is not worked off stays hidden, however soon the
                queue would show it again. After that it comes back at the queue's own timeout, as it does when this
                process dies.
            turn: what others leave to this drain.

        Raises:
            Exception: what a receive raised, once everything that did come in was given out.
        """
        with closing(HeldMessages(self, hold)) as hidden:
            yield from self._drain(hidden, seconds, messages, threads, patience, turn)

    def _drain(
        self, hidden: HeldMessages, seconds: float, messages: int, threads: int, patience: int, turn: Turn
    ) -> Generator[list[Message]]:
        deadline = time.monotonic() + seconds

        def received(wait: int, left: float) -> list[Message]:
            answer = self._client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=_MOST_PER_CALL,
                WaitTimeSeconds=min(wait, int(left)),
                AttributeNames=["SentTimestamp"],
                MessageAttributeNames=[_FIRST_ID, _FIRST_SENT],
            )
            batch = [_message(item) for item in answer.get("Messages", [])]
            if batch:
                hidden.add(batch)
            return batch

        # A long poll asks all of SQS's servers, so of an idle queue one receiver is told as much as many.
        held = received(patience, seconds) if seconds > 0 else []
        if not held:
            return
        chunk_of, chunk_size = _CHUNK // turn.part, _CHUNK_SIZE // turn.part
        changed = threading.Condition()
        total, size, working, closed = len(held), sum(len(one.body) for one in held), threads, False

        def room() -> bool:
            return closed or (len(held) < 2 * chunk_of and size < 2 * chunk_size)

        def enough() -> bool:
            return not working or len(held) >= chunk_of or size >= chunk_size

        def receive() -> None:
            nonlocal total, size, working
            try:
                while (left := deadline - time.monotonic()) > 0 and total < messages and not closed:
                    if not turn.goes_on(total):
                        return
                    batch = received(_POLL, left)
                    if not batch:
                        return
                    with changed:
                        held.extend(batch)
                        total += len(batch)
                        size += sum(len(one.body) for one in batch)
                        changed.notify_all()
                        changed.wait_for(room)
            finally:
                with changed:
                    working -= 1
                    changed.notify_all()

        with turn.place(), ThreadPoolExecutor(threads) as pool:
            receivers = [pool.submit(receive) for _ in range(threads)]
            try:
                while working or held:
                    with changed:
                        changed.wait_for(enough)
                        chunk, held[:], size = held[:], [], 0
                        changed.notify_all()
                    if chunk:
                        yield chunk
                        hidden.remove(chunk)
            finally:
                with changed:
                    closed = True
                    changed.notify_all()
        for receiver in receivers:
            receiver.result()

    def receive(self, *, hidden: int, wait: int = 1) -> list[Message]:
        """Receive a few messages with all that was sent with them; none where the queue looks empty.

        Args:
            hidden: seconds until others may receive them, unless they are deleted.
            wait: seconds of long polling.
        """
        answer = self._client.receive_message(
            QueueUrl=self.url,
            MaxNumberOfMessages=_MOST_PER_CALL,
            WaitTimeSeconds=wait,
            VisibilityTimeout=hidden,
            MessageAttributeNames=["All"],
            AttributeNames=["SentTimestamp"],
        )
        return [_message(item) for item in answer.get("Messages", [])]

    def delete(self, messages: Iterable[Message]) -> int:
        """Delete messages; how many could not be.

        What is left comes back after the visibility timeout and is a duplicate then, so a failure loses nothing.
        """
        entries = [{"ReceiptHandle": message.receipt} for message in messages]
        return len(self._by_tens(self._client.delete_message_batch, entries))

    def hide(self, messages: Iterable[Message], seconds: int) -> int:
        """Keep received messages from others for so many seconds from now, 0 to give them back; how many could not be.

        One that is deleted meanwhile is among these, and nothing is wrong with that.
        """
        entries = [{"ReceiptHandle": message.receipt, "VisibilityTimeout": seconds} for message in messages]
        return len(self._by_tens(self._client.change_message_visibility_batch, entries))

    def send_again(self, messages: Sequence[Message], *, as_first: bool = False) -> dict[str, str]:
        """Send messages as they were received, body and attributes.

        Args:
            messages: as received, with all of their attributes.
            as_first: let them carry what they were when they came first, as a row queue's have to.

        Returns:
            The new id of each that was sent, by its old one.
        """
        sent: dict[str, str] = {}

        def note(answer: Any) -> None:
            sent.update((messages[int(one["Id"])].id, one["MessageId"]) for one in answer.get("Successful", []))

        told = [{**one.attributes, **(_carried(one.origin) if as_first else {})} for one in messages]
        entries = [
            {"MessageBody": one.body, **({"MessageAttributes": beside} if beside else {})}
            for one, beside in zip(messages, told, strict=True)
        ]
        sizes = [
            len(one.body.encode(errors="replace")) + len(str(beside))
            for one, beside in zip(messages, told, strict=True)
        ]
        self._by_tens(self._client.send_message_batch, entries, sizes, note)
        return sent

    def send(self, body: str, first: RowOrigin | None = None) -> None:
        """Send a message.

        Args:
            body: its text.
            first: what it was when it came first, of a row queue's message that is sent again.
        """
        beside = _carried(first) if first else {}
        self._client.send_message(QueueUrl=self.url, MessageBody=body, MessageAttributes=beside)

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
        """Another queue of the same account and region, as a dead-letter queue has to be; nothing is asked for."""
        return Queue(self._client, name, self._urls, self)

    def _by_tens(
        self,
        call: Callable[..., Any],
        entries: Sequence[Mapping[str, Any]],
        sizes: Sequence[int] = (),
        note: Callable[[Any], None] = lambda _: None,
    ) -> list[int]:
        """Call for many entries, and again for those that SQS says have failed; the places of those that still do."""
        parts: list[list[int]] = []
        size = 0
        for place in range(len(entries)):
            size += sizes[place] if sizes else 0
            if not parts or len(parts[-1]) == _MOST_PER_CALL or size > _MOST_BYTES:
                parts.append([])
                size = sizes[place] if sizes else 0
            parts[-1].append(place)
        if not parts:
            return []

        def repeatedly(left: list[int]) -> list[int]:
            for _ in range(_ATTEMPTS):
                answer = call(QueueUrl=self.url, Entries=[{"Id": str(place), **entries[place]} for place in left])
                note(answer)
                left = [int(item["Id"]) for item in answer.get("Failed", [])]
                if not left:
                    break
            return left

        with ThreadPoolExecutor(min(8, len(parts))) as pool:
            try:
                return [place for failed in pool.map(repeatedly, parts) for place in failed]
            except BaseException:
                # The rest would fail the same way, each after its client's timeouts.
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _message(item: Mapping[str, Any]) -> Message:
    sent = int(item.get("Attributes", {}).get("SentTimestamp", 0))
    attributes = item.get("MessageAttributes", {})
    return Message(item["MessageId"], item["Body"], item["ReceiptHandle"], sent, _first(attributes), attributes)


def _carried(origin: RowOrigin) -> dict[str, Any]:
    told = {_FIRST_ID: origin.message_id, _FIRST_SENT: str(origin.sent_at)}
    return {name: {"DataType": "String", "StringValue": value} for name, value in told.items()}


def _first(attributes: Mapping[str, Any]) -> RowOrigin | None:
    told = {name: value.get("StringValue", "") for name, value in attributes.items()}
    first, sent = told.get(_FIRST_ID, ""), told.get(_FIRST_SENT, "")
    return RowOrigin(first, int(sent)) if first and sent.isascii() and sent.isdigit() else None
