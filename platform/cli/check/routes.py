"""Checks of the routes: the topic or queue exists and takes messages, and tagged queues can be found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from tidegate.platform.cli.check.findings import Failed, Finding, Warned, call_permitted, make_finding, try_call
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.queues import QueueSpec
from tidegate.platform.core.config.routes import RouteSpec
from tidegate.platform.lake.aws.answers import code_of
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.forwarding.tagged_queues import TaggedQueues

_ACCOUNT = re.compile(r"/(\d{12})/[^/]+/?$")


def check_routes(config: LakeConfig, aws: Aws) -> Iterator[Finding]:
    """Yield the findings of each route.

    Args:
        aws: clients.
    """
    for route in config.routes:
        if route.topic:
            sns = replace(aws, region_name=route.topic_region).client("sns")
            for arn in route.topics:
                yield make_finding(Check.ROUTE_TOPIC, route.name, partial(_topic, sns, arn))
        queue = route.queue or (QueueSpec.model_validate({"name": route.unmatched}) if route.unmatched else None)
        if queue:
            yield make_finding(Check.ROUTE_QUEUE, route.name, partial(_queue, aws.queues(queue.region), queue, route))
        if route.queues_tagged:
            yield make_finding(Check.ROUTE_TAGS, route.name, partial(_tags, aws, config, route.queues_tagged))


def _topic(sns: Any, arn: str) -> str:
    try:
        answer = call_permitted("sns:GetTopicAttributes", arn, sns.get_topic_attributes, TopicArn=arn)
    except ClientError as error:
        if "NotFound" not in code_of(error):
            raise
        raise Failed(f"there is no topic {arn}: create it, or correct `topic` of the route") from None
    # SNS refuses an empty batch when publishing is allowed.
    try_call("sns:Publish", arn, sns.publish_batch, TopicArn=arn, PublishBatchRequestEntries=[])
    return f"{arn.rpartition(':')[2]}, with {answer['Attributes'].get('SubscriptionsConfirmed', '?')} subscriptions"


def _queue(sqs: Any, spec: QueueSpec, route: RouteSpec) -> str:
    name, account = spec.name, _ACCOUNT.search(spec.url or "")
    owner = {"QueueOwnerAWSAccountId": account[1]} if account else {}
    try:
        url = call_permitted("sqs:GetQueueUrl", name, sqs.get_queue_url, QueueName=name, **owner)["QueueUrl"]
    except ClientError as error:
        if "NonExistentQueue" not in code_of(error) and "QueueDoesNotExist" not in code_of(error):
            raise
        field = "queue" if route.queue else "unmatched"
        raise Failed(f"there is no queue {name}: create it, or correct `{field}` of the route") from None
    # SQS refuses an empty batch when sending is allowed.
    try_call("sqs:SendMessage", name, sqs.send_message_batch, QueueUrl=url, Entries=[])
    return name if route.queue else f"{name}, for events that no tagged queue takes"


def _tags(aws: Aws, config: LakeConfig, tag: str) -> str:
    own = [name for queue in config.every_queue for name in queue.names]
    tagged = TaggedQueues(lambda: aws.client("resourcegroupstaggingapi"), tag, own)
    by_type = call_permitted("tag:GetResources", "*", tagged.names_by_value)
    queues = {name for names in by_type.values() for name in names}
    if not queues:
        raise Warned(f"no queue of this account and region has the tag {tag}, so every event goes to `unmatched`")
    return f"{len(queues)} queues have the tag {tag}, for {len(by_type)} types"
