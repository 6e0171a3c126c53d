"""The permissions of persons: who run all commands, who only look, and who read the files of the tables."""

from __future__ import annotations

from tidegate.platform.cloud.roles.lake_arns import LOG_FOLDER, LakeArns, require_own_account
from tidegate.platform.cloud.roles.shared_statements import inventory_statements, upload_statements
from tidegate.platform.cloud.statement import Statement, Statements, without_empty
from tidegate.platform.core.config.lake import LakeConfig


def operator(config: LakeConfig) -> Statements:
    """Return what `tidegate doctor` and the other commands need in addition to Dagster's permissions."""
    arns = LakeArns(config)
    return without_empty(
        *inventory_statements(config),
        *upload_statements(config),
        *require_own_account(
            arns,
            Statement(
                "LogsOfRegisteredTables",
                ("s3:DeleteObject",),
                arns.registered_arns(LOG_FOLDER),
                "`doctor --repair` deletes what writers that died left",
            ),
        ),
        Statement(
            "CommitTable",
            ("dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"),
            arns.commit_table(),
            "`doctor`",
        ),
        Statement(
            "CommitEntries",
            ("dynamodb:Query", "dynamodb:UpdateItem"),
            arns.commit_table(),
            "`doctor`, for this lake's tables alone; with `--repair` it closes entries",
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": arns.paths()}},
        ),
    )


def reader(config: LakeConfig) -> Statements:
    """Return what the commands need that change nothing. Queries run on the Spark server, with its role."""
    arns = LakeArns(config)
    return without_empty(
        *require_own_account(
            arns,
            Statement(
                "ListBuckets",
                ("s3:ListBucket",),
                arns.buckets(*config.output_roots),
                "listings, and so that S3 answers 404 for a key that is gone",
            ),
            Statement(
                "ReadSources",
                ("s3:GetObject",),
                tuple(map(arns.address.objects, config.buckets)),
                "`trace` compares the object with the ledger",
            ),
            Statement("ReadLake", ("s3:GetObject",), arns.lake(), "manifests, batches, records, quarantine"),
        ),
        Statement(
            "CountMessages",
            ("sqs:GetQueueAttributes", *(("sqs:GetQueueUrl",) if _names_queues(config) else ())),
            (*arns.queues(), *arns.dead_letters()),
            "`status`: how many messages wait",
        ),
    )


def tables(config: LakeConfig) -> Statements:
    """Return what an engine needs that reads tables from S3 without the Spark server, and nothing else of the lake."""
    arns = LakeArns(config)
    registered = arns.registered_folders()
    return without_empty(
        *require_own_account(
            arns,
            # Without a condition on the prefix: with one, S3 answers 403 for a file of the log that is missing, and
            # engines ask for such files.
            Statement(
                "ListTables",
                ("s3:ListBucket",),
                tuple(map(arns.address.bucket, dict.fromkeys((config.lake.bucket, *registered)))),
                "listings of logs, and so that S3 answers 404 for a missing file. It shows the names of all objects",
            ),
            Statement(
                "ReadTables",
                ("s3:GetObject",),
                (
                    *arns.lake("bronze/*", "silver/*"),
                    *(
                        arns.address.objects(bucket, prefix)
                        for bucket, prefixes in registered.items()
                        for prefix in prefixes
                    ),
                ),
                "logs and files of the tables; those of registered tables are in their source bucket",
            ),
        ),
    )


def _names_queues(config: LakeConfig) -> bool:
    return any(queue.given_name for queue in config.every_queue)
