"""`tidegate stack` prints a lake's resources on AWS as a CloudFormation template."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tidegate.platform.cli.environment import environment_settings
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.log_policy import log_policies
from tidegate.platform.cloud.requirements import WantedResources, merge_notification, same_events
from tidegate.platform.cloud.template import stack_template
from tidegate.platform.cloud.trust import Trust
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.health.alarms import without_dead_letters
from tidegate.platform.core.wording import command
from tidegate.platform.lake.aws.sqs import Queue

#: Characters of a template that CloudFormation takes in a request. A larger one has to be in a bucket.
_MAX_INLINE = 51_200


def run_stack_template(lake: Path, created: Sequence[str], trust: str) -> None:
    """Print the template, and on standard error what remains to do.

    Args:
        lake: the lake.yaml; nothing else is read.
        created: source buckets that the stack makes.
        trust: where the processes run.

    Raises:
        ConfigurationError: an argument is wrong, or AWS would refuse the template.
        LakeConfigError: the lake.yaml is wrong.
    """
    config = load_lake(lake)
    template = stack_template(config, created, Trust.parse(trust))
    text = json.dumps(template, indent=2)
    if len(text) > _MAX_INLINE:
        text = json.dumps(template, separators=(",", ":"))
    print(text)
    if len(text) > _MAX_INLINE:
        _say(
            f"the template has {len(text):,} characters, and CloudFormation takes {_MAX_INLINE:,} without a bucket: "
            "add --s3-bucket NAME to `aws cloudformation deploy`"
        )
    address = Address.from_config(config)
    if "*" not in (address.region, address.account):
        _say(f"lake.yaml names region {address.region} and account {address.account}: make the stack there")
    for bucket in config.buckets if config.queues else ():
        if bucket not in created:
            _say(
                f"bucket {bucket} is not in the stack, which leaves it as it is. Once the stack exists, print its "
                f"notifications: {command('stack', '--notification', bucket)}"
            )
    if others := [bucket for bucket in log_policies(config, ()) if bucket not in created]:
        _say(
            f"{', '.join(others)}: protect the logs of registered tables there: tidegate policy buckets, with the "
            "ARNs of the roles that the stack prints as --writer"
        )
    if len(config.queues) > 1:
        more = ", ".join(queue.name for queue in config.queues[1:])
        _say(f"the stack has the first event queue only, not {more}")
    for queue in without_dead_letters(config):
        _say(f"the dead-letter queue of {queue} is named {queue}-dlq: add `dlq: {queue}-dlq` to it in {lake}")
    if config.metrics is None:
        _say(f"{lake} publishes no metrics, so the stack has no alarms on tables: add `metrics: cloudwatch`")


def print_notification(lake: Path | None, bucket: str) -> None:
    """Print the whole notification configuration that a bucket should have: its own, and ours.

    Raises:
        CommandError: the lake has no such bucket, or S3 would refuse the configuration.
        ClientError: the bucket or the queue cannot be read.
    """
    settings = environment_settings().with_lake(lake)
    config = settings.config()
    if bucket not in config.buckets:
        raise CommandError(f"lake.yaml has no bucket {bucket!r}; its buckets: {', '.join(config.buckets)}")
    if not config.queues:
        raise CommandError("lake.yaml has no queue of events (`queues: []`), so its buckets need no notification")
    wanted = WantedResources.from_config(config)
    spec = config.queues[0]
    queues = settings.aws.queues(spec.region)
    url = Queue(queues, spec.url or spec.name).url
    arn = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    found = settings.aws.client("s3").get_bucket_notification_configuration(Bucket=bucket)
    ours = wanted.notification(arn)
    if others := same_events(found, ours):
        raise CommandError(
            f"bucket {bucket} has notifications that get the same events ({', '.join(others)}), and S3 refuses two for "
            "one event: let S3 notify an SNS topic that both queues subscribe to, or let EventBridge send to the queue"
        )
    print(json.dumps(merge_notification(found, ours), indent=2))
    _say(
        "put it with: aws s3api put-bucket-notification-configuration --bucket "
        f"{bucket} --notification-configuration file://FILE"
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr)
