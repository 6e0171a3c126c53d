"""What a source bucket tells, and who may tell it to a queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.platform.cloud.address import bucket_arn

#: S3's kinds of events that a queue is to get. What a lifecycle rule takes away is told by a kind of its own.
KINDS = ("s3:ObjectCreated", "s3:ObjectRemoved", "s3:LifecycleExpiration")

#: The same as a notification names them.
EVENTS = tuple(f"{kind}:*" for kind in KINDS)

#: The one that matters to the files of registered tables alone: a loaded table keeps the rows of what expires.
EXPIRATION = KINDS[-1]

#: Id of the notification that is ours.
NOTIFICATION = "tidegate"


def notification(queue: str) -> dict[str, Any]:
    """The notification of a source bucket to a queue, of that ARN."""
    return {"Id": NOTIFICATION, "QueueArn": queue, "Events": list(EVENTS)}


def queue_policy(queue: str, buckets: Sequence[str], account: str | None = None) -> dict[str, Any]:
    """The policy of a queue that lets S3 send to it.

    Args:
        queue: its ARN.
        buckets: whose events it gets.
        account: whose buckets these have to be; None where that is not asked.
    """
    owned = {"StringEquals": {"aws:SourceAccount": account}} if account else {}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "TidegateBucketsMaySend",
                "Effect": "Allow",
                "Principal": {"Service": "s3.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": queue,
                "Condition": {"ArnLike": {"aws:SourceArn": [bucket_arn(one) for one in buckets]}, **owned},
            }
        ],
    }
