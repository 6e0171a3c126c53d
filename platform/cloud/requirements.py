"""What a lake needs on AWS, as data.

`tidegate dev` makes it on the local platform, `tidegate check` and `tidegate doctor` compare an account with it, and
docs/operate/aws.md shows it. docs/decisions/0073-wanted-once.md says why there is one statement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.commit_table import CommitTable, wanted_commit_table
from tidegate.platform.cloud.log_policy import log_policies
from tidegate.platform.core.config.lake import LakeConfig, QueueSpec
from tidegate.platform.core.keys.s3_address import S3Address

_DAY = 24 * 3600
#: The local platform has no roles: every caller is the root of its account.
_OWN_ACCOUNT = "arn:aws:iam::000000000000:root"

#: S3's kinds of events that the event queue has to get. Objects that a lifecycle rule deletes have their own kind.
KINDS = ("s3:ObjectCreated", "s3:ObjectRemoved", "s3:LifecycleExpiration")

#: These kinds as a notification names them.
EVENTS = tuple(f"{kind}:*" for kind in KINDS)

#: Objects that are put, copied or uploaded in parts.
CREATION = KINDS[0]
#: This kind matters only to registered tables. A loaded table keeps the rows of expired files.
EXPIRATION = KINDS[-1]

#: Id of our notification.
NOTIFICATION = "tidegate"


@dataclass(frozen=True, slots=True)
class QueueAttribute:
    """An attribute of a queue, in seconds.

    Attributes:
        name: SQS's name.
        seconds: the value to set.
        min_seconds: the least value that works.
        max_seconds: the greatest value that works. None: SQS's own limit.
        why: what the value is for.
    """

    name: str
    seconds: int
    min_seconds: int
    max_seconds: int | None
    why: str

    @property
    def shown(self) -> str:
        """The value with its unit, for people."""
        return f"{self.seconds} s" if self.seconds % _DAY else f"{self.seconds // _DAY} days"


#: Dagster gives up a tick after 60 s. A tick keeps hiding the messages that it still works on, so more than an hour
#: would only delay the messages of a tick that died.
VISIBILITY = QueueAttribute(
    "VisibilityTimeout", 120, 60, 3600, "longer than one tick of the sensor, including its writes"
)
LONG_POLL = QueueAttribute("ReceiveMessageWaitTimeSeconds", 20, 0, None, "long polling")
#: Four days: the intake may pause over a weekend.
RETENTION = QueueAttribute(
    "MessageRetentionPeriod", 14 * _DAY, 4 * _DAY, None, "a deployment that is stopped for two weeks loses nothing"
)
QUEUE_ATTRIBUTES = (VISIBILITY, LONG_POLL, RETENTION)
#: The attribute that names a queue's dead-letter queue, and the members of its value.
REDRIVE, DEAD_LETTER_ARN, RECEIVE_COUNT = "RedrivePolicy", "deadLetterTargetArn", "maxReceiveCount"
#: Receives of a message before SQS moves it to the dead-letter queue.
MAX_RECEIVES = 8


@dataclass(frozen=True, slots=True)
class WantedQueue:
    """A queue of the lake and its dead-letter queue, by their names."""

    name: str
    dlq: str

    @classmethod
    def from_spec(cls, spec: QueueSpec) -> WantedQueue:
        """Return a queue of `lake.yaml`. If that names no dead-letter queue, its name is the queue's with `-dlq`."""
        return cls(spec.name, spec.dlq or f"{spec.name}-dlq")

    def attributes(self, dlq_arn: str) -> dict[str, str]:
        """Return the queue's attributes, as SQS's SetQueueAttributes takes them."""
        redrive = {DEAD_LETTER_ARN: dlq_arn, RECEIVE_COUNT: MAX_RECEIVES}
        return {
            **{attribute.name: str(attribute.seconds) for attribute in QUEUE_ATTRIBUTES},
            REDRIVE: json.dumps(redrive),
        }

    def dlq_attributes(self) -> dict[str, str]:
        """Return the attributes of the dead-letter queue."""
        return {RETENTION.name: str(RETENTION.seconds)}


@dataclass(frozen=True, slots=True)
class WantedTopic:
    """A topic to which a route publishes.

    Attributes:
        arn: ARN of the topic.
    """

    arn: str

    @property
    def region(self) -> str:
        """The region of the topic."""
        return self.arn.split(":")[3]

    @property
    def account(self) -> str:
        """The account that owns the topic."""
        return self.arn.split(":")[4]

    @property
    def name(self) -> str:
        """The topic's name."""
        return self.arn.split(":")[5]

    def attributes(self) -> dict[str, str]:
        """Return the topic's attributes, as SNS's CreateTopic takes them."""
        return {"FifoTopic": "true"} if self.name.endswith(".fifo") else {}


@dataclass(frozen=True, slots=True)
class WantedDestination:
    """A queue to which a route sends. Its consumer has it, so only what cannot be changed later is stated.

    Attributes:
        name: name of the queue.
    """

    name: str

    def attributes(self) -> dict[str, str]:
        """Return the queue's attributes, as SQS's CreateQueue takes them."""
        return {"FifoQueue": "true"} if self.name.endswith(".fifo") else {}


@dataclass(frozen=True)
class WantedResources:
    """Everything that has to exist for a lake.

    Attributes:
        buckets: source buckets. Their events go to the event queue.
        lake_root: `s3://` URI of Tidegate's own objects. Its bucket sends no notifications.
        event_queue: the queue that gets the events; None for a lake that only lists.
        commit_table: the table that coordinates commits; None if there is none.
        topics: topics of routes.
        destinations: queues of routes. Queues that a route finds by a tag are not among them.
        outputs: buckets of outputs. They send no notifications.
        log_policies: the policies of source buckets with registered tables, by bucket.
    """

    buckets: tuple[str, ...] = ("landing",)
    lake_root: str = "s3://tidegate-lake/lake"
    event_queue: WantedQueue | None = WantedQueue("tidegate-events", "tidegate-events-dlq")
    row_queues: tuple[WantedQueue, ...] = ()
    commit_table: CommitTable | None = field(default_factory=CommitTable)
    topics: tuple[WantedTopic, ...] = ()
    destinations: tuple[WantedDestination, ...] = ()
    outputs: tuple[str, ...] = ()
    log_policies: Mapping[str, dict[str, Any]] = field(default_factory=dict, hash=False)

    @classmethod
    def from_config(cls, config: LakeConfig) -> WantedResources:
        """Return what a lake needs. Its first queue gets the events."""
        rows = tuple(WantedQueue.from_spec(spec.row_queue) for spec in config.tables if spec.row_queue)
        topics = dict.fromkeys(topic for route in config.routes for topic in route.topics)
        named = (route.queue.name if route.queue else route.unmatched for route in config.routes)
        queues = dict.fromkeys(name for name in named if name)
        return cls(
            config.buckets,
            config.lake.root,
            WantedQueue.from_spec(config.queues[0]) if config.queues else None,
            rows,
            wanted_commit_table(config),
            topics=tuple(map(WantedTopic, topics)),
            destinations=tuple(map(WantedDestination, queues)),
            outputs=tuple(S3Address.parse(folder).bucket for folder in config.output_roots),
            log_policies=log_policies(config, (_OWN_ACCOUNT,)),
        )

    @property
    def every_bucket(self) -> list[str]:
        """The lake's bucket, then the source buckets, and then those of outputs."""
        return list(dict.fromkeys([S3Address.parse(self.lake_root).bucket, *self.buckets, *self.outputs]))

    @property
    def every_queue(self) -> tuple[WantedQueue, ...]:
        """The event queue, and then the row queues."""
        return (*((self.event_queue,) if self.event_queue else ()), *self.row_queues)

    def queue_policy(self, queue_arn: str) -> dict[str, Any]:
        """Return the policy that lets S3 send the events of the source buckets to the event queue of that ARN."""
        return queue_policy(queue_arn, self.buckets)

    def notification(self, queue_arn: str) -> dict[str, Any]:
        """Return the notification of each source bucket to the event queue."""
        return notification(queue_arn)


def notification(queue: str) -> dict[str, Any]:
    """Return the notification of a source bucket to the queue with that ARN."""
    return {"Id": NOTIFICATION, "QueueArn": queue, "Events": list(EVENTS)}


def merge_notification(found: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return a bucket's whole notification configuration with ours in it. What others have stays.

    Args:
        found: the configuration as S3 returns it.
        ours: what `notification` returns. It replaces those with its id, and those of its events to its queue.
    """
    kept = {kind: value for kind, value in found.items() if kind != "ResponseMetadata"}
    others = [each for each in kept.get("QueueConfigurations", []) if not _is_replaced(each, ours)]
    return {**kept, "QueueConfigurations": [*others, dict(ours)]}


def same_events(found: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    """Return others' notifications of a bucket that get events which ours gets, by id: S3 refuses two for one event.

    Args:
        found: the bucket's configuration as S3 returns it.
        ours: what `notification` returns.
    """
    return [
        str(each.get("Id"))
        for members in ("QueueConfigurations", "TopicConfigurations", "LambdaFunctionConfigurations")
        for each in found.get(members, [])
        if not _is_replaced(each, ours) and _gets_our_events(each)
    ]


def _is_replaced(found: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Return whether ours takes the place of a notification. CloudFormation chooses ids of its own."""
    return found.get("Id") == ours["Id"] or (found.get("QueueArn") == ours["QueueArn"] and _gets_our_events(found))


def _gets_our_events(found: Mapping[str, Any]) -> bool:
    kinds = {kind.partition(":")[2] for kind in KINDS}
    return bool(kinds & {event.split(":")[1] for event in found["Events"]})


def queue_policy(queue: str, buckets: Sequence[str]) -> dict[str, Any]:
    """Return the policy that lets S3 send to a queue, for buckets of the queue's account.

    Args:
        queue: ARN of the queue. Its region and account may be `*`; then buckets of every account may send.
        buckets: the buckets whose events the queue gets.
    """
    _, _, _, region, account, _ = queue.split(":")
    address = Address(region=region)
    owned = {} if account == "*" else {"StringEquals": {"aws:SourceAccount": account}}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "TidegateBucketsMaySend",
                "Effect": "Allow",
                "Principal": {"Service": "s3.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": queue,
                "Condition": {"ArnLike": {"aws:SourceArn": [address.bucket(bucket) for bucket in buckets]}, **owned},
            }
        ],
    }
