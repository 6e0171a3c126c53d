"""The permissions that each call of AWS needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Need:
    """A permission that a call needs.

    Attributes:
        action: IAM's name.
        on: kind of the resource. `source` is the object that is copied.
        only: when it is needed. `versioned`: if the call names a version. `tagged`: if the object has or gets tags.
            `conditional`: if the call has an etag as its condition.
    """

    action: str
    on: Literal["bucket", "object", "source", "queue", "topic", "table", "any"]
    only: Literal["", "versioned", "tagged", "conditional"] = ""


def _needs_by_call(
    service: str, on: Literal["queue", "topic", "table", "any"], *names: str
) -> dict[str, tuple[Need, ...]]:
    return {f"{service}:{name}": (Need(f"{service}:{name}", on),) for name in names}


_READ, _WRITE = Need("s3:GetObject", "object"), Need("s3:PutObject", "object")
_LIST = (Need("s3:ListBucket", "bucket"),)

#: By service and operation, from AWS's pages of the operations. Tidegate calls no other operations.
CALLS: dict[str, tuple[Need, ...]] = {
    "s3:HeadBucket": _LIST,
    "s3:ListObjectsV2": _LIST,
    "s3:GetBucketNotificationConfiguration": (Need("s3:GetBucketNotification", "bucket"),),
    "s3:ListBuckets": (Need("s3:ListAllMyBuckets", "any"),),
    "s3:GetBucketInventoryConfiguration": (Need("s3:GetInventoryConfiguration", "bucket"),),
    "s3:PutBucketInventoryConfiguration": (Need("s3:PutInventoryConfiguration", "bucket"),),
    "s3:GetBucketPolicy": (Need("s3:GetBucketPolicy", "bucket"),),
    "s3:PutBucketPolicy": (Need("s3:PutBucketPolicy", "bucket"),),
    "s3:CreateBucket": (Need("s3:CreateBucket", "bucket"),),
    "s3:DeleteBucket": (Need("s3:DeleteBucket", "bucket"),),
    "s3:PutBucketTagging": (Need("s3:PutBucketTagging", "bucket"),),
    "s3:GetBucketTagging": (Need("s3:GetBucketTagging", "bucket"),),
    "s3:PutBucketNotificationConfiguration": (Need("s3:PutBucketNotification", "bucket"),),
    "s3:ListObjectVersions": (Need("s3:ListBucketVersions", "bucket"),),
    "s3:ListMultipartUploads": (Need("s3:ListBucketMultipartUploads", "bucket"),),
    "s3:ListParts": (Need("s3:ListMultipartUploadParts", "object"),),
    "s3:GetBucketLifecycleConfiguration": (Need("s3:GetLifecycleConfiguration", "bucket"),),
    "s3:HeadObject": (_READ,),
    "s3:GetObject": (_READ,),
    "s3:PutObject": (_WRITE, Need("s3:PutObjectTagging", "object", "tagged")),
    "s3:CreateMultipartUpload": (_WRITE, Need("s3:PutObjectTagging", "object", "tagged")),
    "s3:UploadPart": (_WRITE,),
    "s3:UploadPartCopy": (_WRITE, Need("s3:GetObject", "source")),
    "s3:CompleteMultipartUpload": (_WRITE,),
    "s3:AbortMultipartUpload": (Need("s3:AbortMultipartUpload", "object"),),
    # A copy includes the tags.
    "s3:CopyObject": (
        _WRITE,
        Need("s3:GetObject", "source"),
        Need("s3:GetObjectTagging", "source", "tagged"),
        Need("s3:PutObjectTagging", "object", "tagged"),
    ),
    "s3:DeleteObject": (
        Need("s3:DeleteObject", "object"),
        Need("s3:GetObject", "object", "conditional"),
        Need("s3:DeleteObjectVersion", "object", "versioned"),
    ),
    "s3:DeleteObjects": (
        Need("s3:DeleteObject", "object"),
        Need("s3:DeleteObjectVersion", "object", "versioned"),
    ),
    "s3:GetObjectTagging": (
        Need("s3:GetObjectTagging", "object"),
        Need("s3:GetObjectVersionTagging", "object", "versioned"),
    ),
    "s3:PutObjectTagging": (
        Need("s3:PutObjectTagging", "object"),
        Need("s3:PutObjectVersionTagging", "object", "versioned"),
    ),
    **_needs_by_call("sqs", "queue", "GetQueueUrl", "GetQueueAttributes", "ReceiveMessage", "SendMessage"),
    **_needs_by_call("sqs", "queue", "DeleteMessage", "ChangeMessageVisibility"),
    **_needs_by_call("sqs", "queue", "CreateQueue", "DeleteQueue", "SetQueueAttributes", "ListQueueTags"),
    **_needs_by_call("sqs", "any", "ListQueues"),
    **_needs_by_call("sns", "topic", "GetTopicAttributes"),
    "sns:PublishBatch": (Need("sns:Publish", "topic"),),
    **_needs_by_call("tag", "any", "GetResources"),
    **_needs_by_call(
        "glue", "any", "GetTable", "GetTables", "CreateTable", "UpdateTable", "DeleteTable", "CreateDatabase"
    ),
    "sqs:SendMessageBatch": (Need("sqs:SendMessage", "queue"),),
    "sqs:DeleteMessageBatch": (Need("sqs:DeleteMessage", "queue"),),
    "sqs:ChangeMessageVisibilityBatch": (Need("sqs:ChangeMessageVisibility", "queue"),),
    **_needs_by_call("dynamodb", "table", "DescribeTable", "DescribeTimeToLive", "CreateTable", "UpdateTimeToLive"),
    **_needs_by_call("dynamodb", "table", "DeleteTable", "ListTagsOfResource"),
    **_needs_by_call("dynamodb", "any", "ListTables"),
    **_needs_by_call("dynamodb", "table", "Query", "GetItem", "PutItem", "UpdateItem"),
    "cloudwatch:PutMetricData": (Need("cloudwatch:PutMetricData", "any"),),
}
