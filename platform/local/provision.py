"""The AWS resources a lake needs, made where missing and left alone where right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import ClientError

from tidegate.platform.cloud.notifications import EVENTS, NOTIFICATION, notification, queue_policy

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import CreateTableInputTypeDef
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import NotificationConfigurationTypeDef
    from mypy_boto3_sqs import SQSClient

    from tidegate.platform.core.config.lake import LakeConfig, QueueSpec


@dataclass(frozen=True)
class Resources:
    """What is to exist.

    Attributes:
        buckets: Source buckets, whose events go to the queue.
        lake_root: s3:// URI of Tidegate's own objects; its bucket is made too, without notifications.
        queue: Name of the event queue.
        dlq: Name of the queue for messages that were received too often.
        log_table: DynamoDB table that coordinates Delta commits (key schema of Delta's S3DynamoDBLogStore).
        visibility_timeout: Seconds a received message stays hidden; above one intake tick with its retries.
        max_receives: Receives before a message goes to the DLQ.
        row_queues: Names of row queues, and of their DLQs.
    """

    buckets: tuple[str, ...] = ("landing",)
    lake_root: str = "s3://tidegate-lake/lake"
    queue: str = "tidegate-events"
    dlq: str = "tidegate-events-dlq"
    log_table: str = "delta_log"
    visibility_timeout: int = 120
    max_receives: int = 8
    row_queues: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, config: LakeConfig) -> Resources:
        """What `config` names; its first queue gets the events."""
        name, dlq = _names(config.queues[0])
        rows = tuple(_names(spec.row_queue) for spec in config.tables if spec.row_queue)
        return cls(config.buckets, config.lake.root, name, dlq, row_queues=rows)

    @property
    def lake_bucket(self) -> str:
        """The bucket of `lake_root`."""
        return urlsplit(self.lake_root).netloc


@dataclass(frozen=True)
class Clients:
    """The three AWS clients that provisioning needs."""

    s3: S3Client
    sqs: SQSClient
    dynamodb: DynamoDBClient

    @classmethod
    def connect(
        cls,
        endpoint: str | None = None,
        region: str | None = None,
        *,
        key: str | None = None,
        secret: str | None = None,
    ) -> Clients:
        """Clients for `endpoint`; whatever is None comes from the AWS default chain."""
        session = boto3.Session(aws_access_key_id=key, aws_secret_access_key=secret, region_name=region)
        return cls(
            session.client("s3", endpoint_url=endpoint),
            session.client("sqs", endpoint_url=endpoint),
            session.client("dynamodb", endpoint_url=endpoint),
        )


def provision(clients: Clients, resources: Resources) -> str:
    """Make what is missing, correct what differs, touch nothing that is right.

    A notification that is already right is not put again: every put makes S3 send an `s3:TestEvent`.

    Returns:
        The URL of the event queue.
    """
    for bucket in dict.fromkeys([resources.lake_bucket, *resources.buckets]):
        _bucket(clients.s3, bucket)
    url = _queue_with_dlq(clients.sqs, resources, resources.queue, resources.dlq)
    for name, dlq in resources.row_queues:
        _queue_with_dlq(clients.sqs, resources, name, dlq)
    arn = _arn(clients.sqs, url)
    _attributes(clients.sqs, url, {"Policy": json.dumps(queue_policy(arn, resources.buckets))})
    for bucket in resources.buckets:
        _notification(clients.s3, bucket, arn)
    _log_table(clients.dynamodb, resources.log_table)
    return url


def _bucket(s3: S3Client, bucket: str) -> None:
    try:
        s3.head_bucket(Bucket=bucket)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
            raise
        s3.create_bucket(Bucket=bucket)


def _names(queue: QueueSpec) -> tuple[str, str]:
    return queue.name, queue.dlq or f"{queue.name}-dlq"


def _queue_with_dlq(sqs: SQSClient, resources: Resources, name: str, dlq: str) -> str:
    dlq_url = _queue(sqs, dlq, {"MessageRetentionPeriod": str(14 * 24 * 3600)})
    return _queue(
        sqs,
        name,
        {
            "VisibilityTimeout": str(resources.visibility_timeout),
            "ReceiveMessageWaitTimeSeconds": "20",
            "MessageRetentionPeriod": str(14 * 24 * 3600),
            "RedrivePolicy": json.dumps(
                {"deadLetterTargetArn": _arn(sqs, dlq_url), "maxReceiveCount": resources.max_receives}
            ),
        },
    )


def _queue(sqs: SQSClient, name: str, wanted: dict[str, str]) -> str:
    try:
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    except sqs.exceptions.QueueDoesNotExist:
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
    _attributes(sqs, url, wanted)
    return url


def _attributes(sqs: SQSClient, url: str, wanted: dict[str, str]) -> None:
    reply = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    found = {str(name): value for name, value in reply.get("Attributes", {}).items()}
    differing = {k: v for k, v in wanted.items() if not _same(found.get(k), v)}
    if differing:
        sqs.set_queue_attributes(QueueUrl=url, Attributes=differing)  # type: ignore[arg-type]


def _same(found: str | None, wanted: str) -> bool:
    if found is None:
        return False
    if not wanted.startswith("{"):
        return found == wanted
    try:
        # AWS returns numbers inside a policy as strings or as numbers, as they were put.
        return bool(_canonical(json.loads(found)) == _canonical(json.loads(wanted)))
    except ValueError:
        return False


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _canonical(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_canonical(v) for v in value]
    return str(value)


def _arn(sqs: SQSClient, url: str) -> str:
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def _notification(s3: S3Client, bucket: str, arn: str) -> None:
    found: dict[str, Any] = dict(s3.get_bucket_notification_configuration(Bucket=bucket))
    found.pop("ResponseMetadata", None)
    queues = found.get("QueueConfigurations", [])
    right = any(
        q.get("QueueArn") == arn and sorted(q.get("Events", [])) == sorted(EVENTS) and not q.get("Filter")
        for q in queues
    )
    if right:
        return
    others = [q for q in queues if q.get("Id") != NOTIFICATION]
    wanted: NotificationConfigurationTypeDef = {**found, "QueueConfigurations": [*others, notification(arn)]}  # type: ignore[typeddict-item]
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=wanted)


def log_table(name: str) -> CreateTableInputTypeDef:
    """The table of entries, as the log store itself makes it."""
    return {
        "TableName": name,
        "KeySchema": [
            {"AttributeName": "tablePath", "KeyType": "HASH"},
            {"AttributeName": "fileName", "KeyType": "RANGE"},
        ],
        "AttributeDefinitions": [
            {"AttributeName": "tablePath", "AttributeType": "S"},
            {"AttributeName": "fileName", "AttributeType": "S"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }


def _log_table(dynamodb: DynamoDBClient, name: str) -> None:
    try:
        dynamodb.describe_table(TableName=name)
    except dynamodb.exceptions.ResourceNotFoundException:
        dynamodb.create_table(**log_table(name))
        dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    ttl = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if ttl.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
        dynamodb.update_time_to_live(
            TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expireTime"}
        )
