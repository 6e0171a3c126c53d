"""Makes the AWS resources that a lake needs, where they are missing or differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.cloud.requirements import (
    WantedDestination,
    WantedQueue,
    WantedResources,
    WantedTopic,
    merge_notification,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import NotificationConfigurationTypeDef
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True)
class Clients:
    """The AWS clients that provisioning needs.

    Attributes:
        sns: opens a client of SNS for a region and an account. The local AWS takes the account from the access key, so
            that it has topics of every account that `lake.yaml` names.
    """

    s3: S3Client
    sqs: SQSClient
    dynamodb: DynamoDBClient
    sns: Callable[[str, str], SNSClient]

    @classmethod
    def connect(
        cls,
        endpoint: str | None = None,
        region: str | None = None,
        *,
        key: str | None = None,
        secret: str | None = None,
    ) -> Clients:
        """Make clients for an endpoint. What is None comes from AWS's default chain."""
        session = boto3.Session(aws_access_key_id=key, aws_secret_access_key=secret, region_name=region)
        return cls(
            session.client("s3", endpoint_url=endpoint),
            session.client("sqs", endpoint_url=endpoint),
            session.client("dynamodb", endpoint_url=endpoint),
            lambda region, account: boto3.client(
                "sns",
                region_name=region,
                endpoint_url=endpoint,
                aws_access_key_id=account,
                aws_secret_access_key=secret or account,
            ),
        )


def provision(clients: Clients, wanted: WantedResources) -> str:
    """Create what is missing and correct what differs. What is right is not written again.

    A notification that is right is not put again, because with every put S3 sends an `s3:TestEvent`.

    Returns:
        The URL of the event queue; empty if the lake has none.
    """
    for bucket in wanted.every_bucket:
        _bucket(clients.s3, bucket)
    urls = [_queue_with_dlq(clients.sqs, queue) for queue in wanted.every_queue]
    arn = _arn(clients.sqs, urls[0]) if wanted.event_queue else None
    if arn:
        _attributes(clients.sqs, urls[0], {"Policy": json.dumps(wanted.queue_policy(arn))})
    for bucket, policy in wanted.log_policies.items():
        _bucket_policy(clients.s3, bucket, policy)
    if arn:
        for bucket in wanted.buckets:
            _notification(clients.s3, bucket, wanted.notification(arn))
    for topic in wanted.topics:
        _topic(clients.sns(topic.region, topic.account), topic)
    for destination in wanted.destinations:
        _destination(clients.sqs, destination)
    if wanted.commit_table is not None:
        _commit_table(clients.dynamodb, wanted.commit_table)
    return urls[0] if arn else ""


def _bucket(s3: S3Client, bucket: str) -> None:
    try:
        s3.head_bucket(Bucket=bucket)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
            raise
        s3.create_bucket(Bucket=bucket)


def _bucket_policy(s3: S3Client, bucket: str, wanted: dict[str, Any]) -> None:
    try:
        found = json.loads(s3.get_bucket_policy(Bucket=bucket)["Policy"])
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
            raise
        found = None
    if found != wanted:
        s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(wanted))


def _queue_with_dlq(sqs: SQSClient, queue: WantedQueue) -> str:
    dlq_url = _queue(sqs, queue.dlq, queue.dlq_attributes())
    return _queue(sqs, queue.name, queue.attributes(_arn(sqs, dlq_url)))


def _queue(sqs: SQSClient, name: str, wanted: dict[str, str]) -> str:
    try:
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    except sqs.exceptions.QueueDoesNotExist:
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
    _attributes(sqs, url, wanted)
    return url


def _destination(sqs: SQSClient, queue: WantedDestination) -> None:
    try:
        sqs.get_queue_url(QueueName=queue.name)
    except sqs.exceptions.QueueDoesNotExist:
        sqs.create_queue(QueueName=queue.name, Attributes=queue.attributes())  # type: ignore[arg-type]


def _topic(sns: SNSClient, topic: WantedTopic) -> None:
    try:
        sns.get_topic_attributes(TopicArn=topic.arn)
    except sns.exceptions.NotFoundException:
        sns.create_topic(Name=topic.name, Attributes=topic.attributes())


def _attributes(sqs: SQSClient, url: str, wanted: dict[str, str]) -> None:
    reply = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    found = {str(name): value for name, value in reply.get("Attributes", {}).items()}
    differing = {k: v for k, v in wanted.items() if not _is_same(found.get(k), v)}
    if differing:
        sqs.set_queue_attributes(QueueUrl=url, Attributes=differing)  # type: ignore[arg-type]


def _is_same(found: str | None, wanted: str) -> bool:
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


def _notification(s3: S3Client, bucket: str, ours: Mapping[str, Any]) -> None:
    found: dict[str, Any] = dict(s3.get_bucket_notification_configuration(Bucket=bucket))
    if any(_sends_the_same(queue, ours) for queue in found.get("QueueConfigurations", [])):
        return
    put: NotificationConfigurationTypeDef = merge_notification(found, ours)  # type: ignore[assignment]
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=put)


def _sends_the_same(found: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    same_events = sorted(found.get("Events", [])) == sorted(ours["Events"])
    return found.get("QueueArn") == ours["QueueArn"] and same_events and not found.get("Filter")


def _commit_table(dynamodb: DynamoDBClient, table: CommitTable) -> None:
    try:
        dynamodb.describe_table(TableName=table.name)
    except dynamodb.exceptions.ResourceNotFoundException:
        dynamodb.create_table(**table.definition())
        dynamodb.get_waiter("table_exists").wait(TableName=table.name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    ttl = dynamodb.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"]
    if ttl.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
        dynamodb.update_time_to_live(TableName=table.name, TimeToLiveSpecification=table.time_to_live())  # type: ignore[arg-type]
