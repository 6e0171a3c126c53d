"""The permissions of the person who runs commands, in addition to those of Dagster."""

from __future__ import annotations

from tidegate.platform.cloud.roles.inventory_statements import inventory_statements, upload_statements
from tidegate.platform.cloud.roles.lake_arns import COPIES_FOLDER, LOG_FOLDER, LakeArns, owned
from tidegate.platform.cloud.statement import Statement, Statements, without_empty
from tidegate.platform.core.config.lake import LakeConfig


def operator(config: LakeConfig) -> Statements:
    """Return what `tidegate check`, `doctor` and the other commands need in addition to Dagster's permissions."""
    arns = LakeArns(config)
    return without_empty(
        *inventory_statements(config),
        *upload_statements(config),
        Statement(
            "Topics",
            ("sns:GetTopicAttributes",),
            tuple(dict.fromkeys(topic for route in config.routes for topic in route.topics)),
            "`check`",
        ),
        Statement(
            "DeadLetterQueues",
            ("sqs:GetQueueUrl",),
            arns.dead_letters(),
            "`check`",
        ),
        *_buckets(config, arns),
        Statement(
            "CommitTable",
            ("dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"),
            (arns.commit_table(),),
            "`doctor`",
        ),
        Statement(
            "CommitEntries",
            ("dynamodb:Query", "dynamodb:UpdateItem"),
            (arns.commit_table(),),
            "`doctor`, for this lake's tables alone; with `--repair` it closes entries",
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": arns.paths()}},
        ),
    )


def _buckets(config: LakeConfig, arns: LakeArns) -> Statements:
    return owned(
        arns,
        Statement(
            "Notifications",
            ("s3:GetBucketNotification",),
            tuple(arns.address.bucket(bucket) for bucket in config.buckets),
            "`check`",
        ),
        Statement(
            "BucketPolicies",
            ("s3:GetBucketPolicy",),
            tuple(map(arns.address.bucket, arns.registered_buckets)),
            "`check` asks whether producers can write to the logs of registered tables",
        ),
        Statement(
            "LogsOfRegisteredTables",
            ("s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
            arns.registered(LOG_FOLDER),
            "`check` puts a probe there and deletes it, `doctor --repair` deletes what writers that died left",
        ),
        Statement(
            "Probes",
            ("s3:DeleteObject",),
            (
                *arns.registered(COPIES_FOLDER),
                *map(arns.address.folder, (*config.after_load_folders, *config.output_roots)),
            ),
            "`check` deletes its probes",
        ),
    )
