"""What a route sends to: an SNS topic or an SQS queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.answers import is_of_one_message, refuses_one_message
from tidegate.platform.lake.aws.sqs import Queue

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

#: Entries of one call, for SNS and SQS.
MAX_ENTRIES = 10
#: Bytes of one message and of one call, attributes included (AWS: "Amazon SQS endpoints and quotas" and "Amazon SNS
#: endpoints and quotas"), without what our attributes take.
_SQS_BYTES, _SNS_BYTES = (1 << 20) - 2_000, (1 << 18) - 2_000
#: The attributes of a forwarded message: the type of its events, and the lake that forwarded it.
TYPE_ATTRIBUTE, LAKE_ATTRIBUTE = "event_type", "tidegate-lake"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry of a call that the destination did not take.

    Attributes:
        place: its place in the call.
        reason: what the destination says.
        of_the_message: whether it never takes this message.
    """

    place: int
    reason: str
    of_the_message: bool


class Destination(Protocol):
    """A topic or queue.

    Attributes:
        name: for people.
        ordered: whether it keeps the order within a message group.
        max_bytes: bytes of bodies that one call may have, and one message.
        one_by_one: whether each event takes so long that a call has one message with one record.
    """

    name: str
    ordered: bool
    max_bytes: int
    one_by_one: bool

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal]:
        """Send up to ten messages in one call. Returns those that were not taken.

        Raises:
            ClientError: the destination refused the call.
            BotoCoreError: it did not answer.
        """


def send_with_fallback(destination: Destination, messages: Sequence[Outgoing]) -> list[Refusal]:
    """Send messages in one call, or each in its own if the destination refuses the call because of one of them.

    Raises:
        ClientError: the destination refuses every message.
        BotoCoreError: it did not answer.
        StoreError: S3 did not answer.
    """
    try:
        return destination.send(messages)
    except ClientError as error:
        if not is_of_one_message(error):
            raise
        if len(messages) == 1:
            return [Refusal(0, first_line(error), of_the_message=True)]
    alone = [send_with_fallback(destination, [message]) for message in messages]
    return [replace(found, place=place) for place, refused in enumerate(alone) for found in refused]


class TopicDestination:
    """An SNS topic.

    Args:
        client: a client of the topic's region.
        arn: ARN of the topic.
        lake: the lake's UUID.
        grouped: whether messages have a message group.
    """

    max_bytes = _SNS_BYTES
    one_by_one = False

    def __init__(self, client: SNSClient, arn: str, lake: str, *, grouped: bool) -> None:
        self._client, self._arn, self._lake, self._grouped = client, arn, lake, grouped
        self.name = arn
        self.ordered = arn.endswith(".fifo")

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal]:
        """Publish up to ten messages. See `Destination.send`."""
        entries: Any = [
            {"Id": str(place), "Message": message.body, **_entry(message, self._lake, self._grouped, self.ordered)}
            for place, message in enumerate(messages)
        ]
        return _refusals(self._client.publish_batch(TopicArn=self._arn, PublishBatchRequestEntries=entries))


class QueueDestination:
    """An SQS queue.

    Args:
        client: a client of the queue's region.
        lake: the lake's UUID.
        grouped: whether messages have a message group.
    """

    max_bytes = _SQS_BYTES
    one_by_one = False

    def __init__(self, client: SQSClient, queue: Queue, lake: str, *, grouped: bool) -> None:
        self._client, self._queue, self._lake, self._grouped = client, queue, lake, grouped
        self.name = queue.name
        self.ordered = queue.name.endswith(".fifo")

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal]:
        """Send up to ten messages. See `Destination.send`."""
        entries: Any = [
            {"Id": str(place), "MessageBody": message.body, **_entry(message, self._lake, self._grouped, self.ordered)}
            for place, message in enumerate(messages)
        ]
        return _refusals(self._client.send_message_batch(QueueUrl=self._queue.url, Entries=entries))


def _entry(message: Outgoing, lake: str, grouped: bool, ordered: bool) -> dict[str, Any]:
    values = {LAKE_ATTRIBUTE: lake, **({TYPE_ATTRIBUTE: message.event_type} if message.event_type else {})}
    return {
        "MessageAttributes": {name: {"DataType": "String", "StringValue": value} for name, value in values.items()},
        **({"MessageGroupId": message.group_id} if grouped or ordered else {}),
        **({"MessageDeduplicationId": message.deduplication_id} if ordered else {}),
    }


def _refusals(answer: Mapping[str, Any]) -> list[Refusal]:
    found = []
    for entry in answer.get("Failed", []):
        code = str(entry.get("Code", ""))
        reason = f"{code}: {entry['Message']}" if entry.get("Message") else code
        # AWS says whose fault it is. A key or a permission of the destination is the sender's fault too, for AWS.
        of_the_message = bool(entry.get("SenderFault", True)) and refuses_one_message(code)
        found.append(Refusal(int(entry["Id"]), reason, of_the_message))
    return found


class ShardedTopics:
    """The topics of a route with `shards`. Each event type has one of them.

    Args:
        topics: its topics by their ARNs.
    """

    def __init__(self, route: RouteSpec, topics: Mapping[str, Destination]) -> None:
        self._route, self._topics = route, topics
        first = next(iter(topics.values()))
        self.name = f"the topics of route {route.name}"
        self.ordered, self.max_bytes, self.one_by_one = first.ordered, first.max_bytes, first.one_by_one

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal]:
        """Publish up to ten messages, in one call for each of their topics. See `Destination.send`.

        A topic that fails keeps its own messages only: they are refused for now, with the error.
        """
        places: dict[str, list[int]] = {}
        for place, message in enumerate(messages):
            places.setdefault(self._route.topic_of(message.event_type), []).append(place)
        return [refusal for arn, own in places.items() for refusal in self._publish(arn, own, messages)]

    def _publish(self, arn: str, places: Sequence[int], messages: Sequence[Outgoing]) -> list[Refusal]:
        try:
            refused = send_with_fallback(self._topics[arn], [messages[place] for place in places])
        except (BotoCoreError, ClientError) as error:
            return [Refusal(place, f"{arn}: {first_line(error)}", of_the_message=False) for place in places]
        return [Refusal(places[found.place], found.reason, found.of_the_message) for found in refused]
