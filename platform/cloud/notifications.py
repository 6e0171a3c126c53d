"""The notifications of source buckets, and the policy of the queue that gets them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.platform.cloud.address import Address

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


def notification(queue: str) -> dict[str, Any]:
    """Return the notification of a source bucket to the queue with that ARN."""
    return {"Id": NOTIFICATION, "QueueArn": queue, "Events": list(EVENTS)}


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
