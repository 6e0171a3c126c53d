"""ARNs of China, GovCloud and AWS's other partitions."""

from __future__ import annotations

import json

import botocore.session
import pytest

from tests.unit.conftest import PAPER
from tidegate.platform.cloud.arns import Address, partition_of
from tidegate.platform.cloud.requirements import queue_policy
from tidegate.platform.cloud.roles.roles import ROLES, policy
from tidegate.platform.core.config.lake import LakeConfig

OBJECTS = {
    "name": "objects",
    "prefix": "s3://second/inventory/",
    "mode": "inventory",
    "inventories": {"buckets": ["acme-*", "!acme-logs"]},
}


def test_each_region_that_boto3_knows_is_in_its_partition() -> None:
    session = botocore.session.get_session()
    partitions = session.get_available_partitions()
    assert {"aws", "aws-cn", "aws-us-gov"} <= set(partitions)
    for partition in partitions:
        for region in session.get_available_regions("s3", partition):
            assert partition_of(region) == partition, region
    assert (partition_of("*"), partition_of("eu-central-1")) == ("aws", "aws")


@pytest.mark.parametrize(
    ("host", "partition"),
    [
        ("sqs.eu-central-1.amazonaws.com", "aws"),
        ("sqs.cn-north-1.amazonaws.com.cn", "aws-cn"),
        ("sqs.us-gov-west-1.amazonaws.com", "aws-us-gov"),
    ],
)
def test_all_arns_of_a_lake_are_of_the_partition_of_its_queue(host: str, partition: str) -> None:
    queues = [{"url": f"https://{host}/111122223333/events"}]
    config = LakeConfig.model_validate({**PAPER, "queues": queues, "tables": [*PAPER["tables"], OBJECTS]})
    printed = json.dumps([policy(statements(config)) for statements in ROLES.values() if statements(config)])
    assert printed.count('"arn:') == printed.count(f'"arn:{partition}:') > 20
    assert f"arn:{partition}:s3:::acme-*" in printed
    assert "acme-logs" not in printed, "IAM has no exclusions"
    queue = Address.from_config(config).queue(config.queues[0])
    assert queue == f"arn:{partition}:sqs:{config.queues[0].region}:111122223333:events"
    (statement,) = queue_policy(queue, ["acme"])["Statement"]
    assert statement["Condition"]["ArnLike"]["aws:SourceArn"] == [f"arn:{partition}:s3:::acme"]
