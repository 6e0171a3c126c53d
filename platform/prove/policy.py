"""The permissions that `tidegate prove` needs: those of the printed roles, on resources with its own names only."""

from __future__ import annotations

from botocore.exceptions import ClientError

from tidegate.platform.cloud.arns import partition_of
from tidegate.platform.cloud.roles.dagster_role import dagster
from tidegate.platform.cloud.roles.spark_role import spark
from tidegate.platform.cloud.statement import Statement, Statements
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.prove.names import PREFIX, RunNames
from tidegate.platform.prove.tables import lake_body

#: What the run itself calls, by the operation of boto3. Its lake needs what the roles of every lake need.
_ACTIONS = {
    "CreateBucket": "s3:CreateBucket",
    "DeleteBucket": "s3:DeleteBucket",
    "HeadBucket": "s3:ListBucket",
    "PutBucketTagging": "s3:PutBucketTagging",
    "GetBucketTagging": "s3:GetBucketTagging",
    "PutBucketNotificationConfiguration": "s3:PutBucketNotification",
    "ListObjectsV2": "s3:ListBucket",
    "ListObjectVersions": "s3:ListBucketVersions",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "PutObject": "s3:PutObject",
    "CreateMultipartUpload": "s3:PutObject",
    "UploadPart": "s3:PutObject",
    "CompleteMultipartUpload": "s3:PutObject",
    "CopyObject": "s3:PutObject",
    "GetObject": "s3:GetObject",
    "HeadObject": "s3:GetObject",
    "DeleteObject": "s3:DeleteObject",
    "DeleteObjects": "s3:DeleteObject",
    "DeleteObjectVersion": "s3:DeleteObjectVersion",
    "AbortMultipartUpload": "s3:AbortMultipartUpload",
    "CreateQueue": "sqs:CreateQueue",
    "TagQueue": "sqs:TagQueue",
    "ListQueueTags": "sqs:ListQueueTags",
    "DeleteQueue": "sqs:DeleteQueue",
    "GetQueueAttributes": "sqs:GetQueueAttributes",
    "GetQueueUrl": "sqs:GetQueueUrl",
    "SendMessage": "sqs:SendMessage",
    "CreateTable": "dynamodb:CreateTable",
    "DescribeTable": "dynamodb:DescribeTable",
    "UpdateTimeToLive": "dynamodb:UpdateTimeToLive",
    "TagResource": "dynamodb:TagResource",
    "ListTagsOfResource": "dynamodb:ListTagsOfResource",
    "DeleteTable": "dynamodb:DeleteTable",
}
#: Lists that AWS permits for all names or for none.
_LISTS = {"ListBuckets": "s3:ListAllMyBuckets", "ListQueues": "sqs:ListQueues", "ListTables": "dynamodb:ListTables"}
_ON_OBJECTS = ("Object", "MultipartUpload", "ObjectTagging", "ObjectVersion", "ObjectVersionTagging", "UploadParts")


def prove_statements(region: str = "*", account: str = "*") -> Statements:
    """Return the permissions. What the roles of its lake need is derived from the same lake.yaml.

    Nothing is forbidden: the run removes at its end also what a lake never deletes.

    Args:
        region: region of the run; `*` for every region.
        account: account of the run; `*` for every account.
    """
    config = LakeConfig.model_validate(lake_body(RunNames("0" * 10)))
    needed = {
        action for role in (dagster, spark) for each in role(config) if not each.denies for action in each.actions
    }
    every = sorted(needed | set(_ACTIONS.values()))
    partition = partition_of(region)

    def actions_of(service: str, *, objects: bool = False) -> tuple[str, ...]:
        return tuple(each for each in every if each.startswith(f"{service}:") and _is_on_objects(each) == objects)

    own = f"arn:{partition}:{{}}:{region}:{account}:{{}}{PREFIX}*"
    bucket = f"arn:{partition}:s3:::{PREFIX}*"
    return (
        Statement("Buckets", actions_of("s3"), (bucket,), "makes, lists and removes its buckets"),
        Statement("Objects", actions_of("s3", objects=True), (f"{bucket}/*",), "the files, the lake, and their end"),
        Statement("Queues", actions_of("sqs"), (own.format("sqs", ""),), "makes, uses and removes its queues"),
        Statement(
            "CommitTable", actions_of("dynamodb"), (own.format("dynamodb", "table/"),), "the commits of its lake"
        ),
        Statement("FindRuns", tuple(sorted(_LISTS.values())), ("*",), "`prove --clean` finds earlier runs by name"),
    )


def missing_permission(error: ClientError) -> str:
    """Return the action that a refused call needs."""
    operation = error.operation_name
    return _ACTIONS.get(operation) or _LISTS.get(operation) or operation


def _is_on_objects(action: str) -> bool:
    return action.startswith("s3:") and action.endswith(_ON_OBJECTS)
