"""Checks of the source buckets: they can be read, and their events arrive at a queue."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from tidegate.platform.cli.aws_errors import is_denied
from tidegate.platform.cli.check.findings import (
    Denied,
    Failed,
    Finding,
    Warned,
    arns_of,
    begin_listing,
    call_permitted,
    make_finding,
    reach_bucket,
    try_call,
)
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cli.check.queues import CheckedQueue
from tidegate.platform.cloud.log_policy import open_logs
from tidegate.platform.cloud.queue_policy import allows_send
from tidegate.platform.cloud.requirements import CREATION, EVENTS, EXPIRATION, KINDS
from tidegate.platform.cloud.roles.lake_arns import LakeArns
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.file_format import format_of
from tidegate.platform.lake.aws.answers import status_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

#: Folders that one detail lists.
_MAX_SHOWN = 3


@dataclass(frozen=True)
class Filter:
    """The filter of a notification: which keys it covers."""

    prefix: str
    suffix: str

    def passes_files(self, spec: TableSpec) -> bool:
        """Return whether files of a table pass the filter."""
        if not spec.table_key.prefix.startswith(self.prefix):
            return False
        format = format_of(f"x{self.suffix}")
        return not self.suffix or (format is not None and format == (spec.format or format))

    def passes_signals(self, spec: TableSpec) -> bool:
        """Return whether the completion signals of a table pass the filter."""
        return spec.table_key.prefix.startswith(self.prefix) and (spec.completion or "").endswith(self.suffix)


@dataclass(frozen=True)
class Sender:
    """A sender of a bucket's events: the service and the ARN that a queue's policy must allow."""

    service: str
    source: str


def check_bucket(
    s3: S3Client, bucket: str, tables: Sequence[TableSpec], queues: Sequence[CheckedQueue] | None
) -> Iterator[Finding]:
    """Check one source bucket.

    Args:
        bucket: the name of the bucket.
        tables: the configured tables of the bucket.
        queues: the queues of events that answered; None if the lake has none, and needs no notification.
    """
    first = make_finding(Check.BUCKET_REACHABLE, bucket, lambda: _check_reachable(s3, bucket))
    yield first
    if not first.ok:
        return
    yield make_finding(Check.BUCKET_READ, bucket, lambda: _check_readable(s3, bucket))
    if queues is None:
        return
    senders: list[Sender] = []
    notification = make_finding(
        Check.BUCKET_NOTIFICATIONS, bucket, lambda: _check_notifications(s3, bucket, tables, queues, senders)
    )
    yield notification
    for sender in senders:
        yield make_finding(Check.QUEUE_POLICY, bucket, lambda sender=sender: _may_send(sender, queues))  # type: ignore[misc]


def _check_reachable(s3: S3Client, bucket: str) -> str:
    try:
        reach_bucket(s3, bucket, "lake.yaml")
    except ClientError as error:
        if status_of(error) == 301:
            raise Failed(
                f"{bucket} is in another region: set AWS_REGION, and AWS_ENDPOINT_URL if you use it, to the bucket's"
            ) from None
        raise
    return ""


def _check_readable(s3: S3Client, bucket: str) -> str:
    listing = begin_listing(s3, bucket)
    key = next((item["Key"] for item in listing.get("Contents", [])), f"tidegate-check-{uuid.uuid4()}")
    try:
        s3.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if is_denied(error):
            raise Denied("s3:GetObject", arns_of(s3).objects(bucket), f" (asked for {key})") from None
        if status_of(error) != 404:
            raise
    try_call("s3:GetObjectTagging", arns_of(s3).objects(bucket), s3.get_object_tagging, Bucket=bucket, Key=key)
    return "s3:ListBucket, s3:GetObject and s3:GetObjectTagging are allowed"


def _check_notifications(
    s3: S3Client, bucket: str, tables: Sequence[TableSpec], queues: Sequence[CheckedQueue], senders: list[Sender]
) -> str:
    found = call_permitted(
        "s3:GetBucketNotification",
        arns_of(s3).bucket(bucket),
        s3.get_bucket_notification_configuration,
        Bucket=bucket,
    )
    arns = {queue.arn for queue in queues}
    direct = [target for target in found.get("QueueConfigurations", []) if target["QueueArn"] in arns]
    topics = found.get("TopicConfigurations", [])
    if "EventBridgeConfiguration" in found and not direct and not topics:
        senders.append(Sender("events.amazonaws.com", "*"))
        return "to EventBridge; its rule must take Object Created and Object Deleted of the bucket to the queue"
    if not direct and not topics:
        raise Failed(
            f"none of its notifications sends to a queue of lake.yaml ({', '.join(sorted(arns)) or 'none answered'}): "
            f"add one for {', '.join(EVENTS)}"
        )
    expires = True
    for kind in KINDS:
        filters = [_filter(target) for target in (*direct, *topics) if _sends(target["Events"], kind)]
        # A loaded table keeps the rows of a file that expires, so it does not need this event.
        wanting = [spec for spec in tables if kind != EXPIRATION or spec.registers is not False]
        if kind == EXPIRATION and not filters and not wanting:
            expires = False
            continue
        if not filters:
            raise Failed(f"no notification for {kind}:*, so such events never arrive: add it")
        for spec in wanting:
            if kind == CREATION and spec.completion and not any(filter_.passes_signals(spec) for filter_ in filters):
                raise Failed(
                    f"the filter of its notification for {kind}:* hides {spec.completion}, the completion signals of "
                    f"table {spec.name}, so its files wait until a listing finds a signal: filter by prefix only"
                )
            if not any(filter_.passes_files(spec) for filter_ in filters):
                raise Failed(
                    f"the filter of its notification for {kind}:* leaves out {spec.table_key.prefix} (table "
                    f"{spec.name}, {spec.format or 'any'} files): remove the filter, or add a notification for them"
                )
        suffixes = sorted({filter_.suffix for filter_ in filters})
    senders += [Sender("s3.amazonaws.com", arns_of(s3).bucket(bucket))] if direct else []
    senders += [Sender("sns.amazonaws.com", topic["TopicArn"]) for topic in topics]
    what = "created and removed objects" + ("" if "" in suffixes else f" that end in {' or '.join(suffixes)}")
    summary = f"{what}, " + ("to the queue" if direct else f"to {topics[0]['TopicArn']}")
    if not expires:
        raise Warned(
            f"{summary}; not {EXPIRATION}:*, so no event reports files that a lifecycle rule removes. Loaded tables "
            "keep the rows of such files; a registered table needs the event: add it"
        )
    return summary


def _sends(events: Sequence[str], kind: str) -> bool:
    return f"{kind}:*" in events or "s3:*" in events


def _filter(configuration: Any) -> Filter:
    rules = configuration.get("Filter", {}).get("Key", {}).get("FilterRules", [])
    found = {str(rule["Name"]).lower(): str(rule["Value"]) for rule in rules}
    return Filter(found.get("prefix", ""), found.get("suffix", ""))


def _may_send(sender: Sender, queues: Sequence[CheckedQueue]) -> str:
    for queue in queues:
        if allows_send(queue.policy, queue.arn, sender.service, sender.source):
            return f"{queue.name} takes from {sender.service}"
    names = ", ".join(queue.name for queue in queues) or "no queue that answered"
    raise Failed(
        f"the policy of {names} does not let {sender.service} send for {sender.source}: allow sqs:SendMessage to that "
        "service, with the condition ArnLike aws:SourceArn"
    )


def check_logs(s3: S3Client, bucket: str, config: LakeConfig) -> Iterator[Finding]:
    """Check the policy of a source bucket, if a table may be registered in it."""
    if bucket in LakeArns(config).registered_buckets:
        yield make_finding(Check.BUCKET_LOGS, bucket, lambda: _check_access_closed(s3, bucket, config))


def _check_access_closed(s3: S3Client, bucket: str, config: LakeConfig) -> str:
    try:
        found = call_permitted("s3:GetBucketPolicy", arns_of(s3).bucket(bucket), s3.get_bucket_policy, Bucket=bucket)
        policy = json.loads(found["Policy"])
    except ClientError as error:
        if status_of(error) != 404:
            raise
        policy = {}
    if folders := open_logs(config, bucket, policy):
        others = " and others" if len(folders) > _MAX_SHOWN else ""
        raise Warned(
            f"producers that may put objects into {', '.join(folders[:_MAX_SHOWN])}{others} can write the log of a "
            "registered table, and so show its readers each file that the Spark server can read: put the policy that "
            "`tidegate policy buckets` prints"
        )
    return "only the roles of Tidegate may write below _delta_log/ and _tidegate/"
