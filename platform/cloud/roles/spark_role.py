"""The permissions of the Spark server."""

from __future__ import annotations

from tidegate.platform.cloud.roles.lake_arns import LOG_FOLDER, LakeArns, require_own_account
from tidegate.platform.cloud.roles.shared_statements import (
    export_folders,
    export_statement,
    kept_statements,
    read_inventories,
)
from tidegate.platform.cloud.statement import Statement, Statements, without_empty
from tidegate.platform.core.config.lake import LakeConfig

#: The folders below the lake root in which the server writes and deletes.
_WRITTEN = ("bronze/*", "silver/*", "ledger/*", "quarantine/rows/*", "outputs/*", "staging/*")


def spark(config: LakeConfig) -> Statements:
    """Return what the Spark server needs: its driver and its executors."""
    arns = LakeArns(config)
    return without_empty(
        *require_own_account(
            arns,
            Statement(
                "ListBuckets",
                ("s3:ListBucket",),
                arns.buckets(*export_folders(config)),
                "listings of logs, and so that S3 answers 404 for an object that is missing",
            ),
            Statement(
                "ReadSources",
                ("s3:GetObject",),
                tuple(arns.address.objects(bucket) for bucket in config.buckets),
                "files and logs of registered tables, files that are loaded",
            ),
            read_inventories(config),
            Statement(
                "LogsOfRegisteredTables",
                ("s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
                arns.registered_arns(LOG_FOLDER),
                "the Delta log of a registered table is next to its files",
            ),
            Statement(
                "ReadLake",
                ("s3:GetObject",),
                arns.lake(),
                "batches, rows of queues, requests to forget, and all tables of the lake",
            ),
            Statement(
                "WriteTables",
                ("s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
                arns.lake(*_WRITTEN),
                "loaded and silver tables, ledgers, rows in quarantine, and what is staged",
            ),
            Statement(
                "MarkVoidBatches",
                ("s3:PutObject",),
                arns.lake("batches/*.void"),
                "the reason of a batch that is void, next to the batch",
            ),
            export_statement(config, "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
        ),
        *kept_statements(arns),
        Statement(
            "CoordinateCommits",
            ("dynamodb:Query", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"),
            arns.commit_table(),
            "the log store, for this lake's tables alone: docs/operate/log-store.md",
            {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": arns.paths()}},
        ),
        Statement(
            "MakeCommitTable",
            ("dynamodb:DescribeTable", "dynamodb:CreateTable", "dynamodb:UpdateTimeToLive"),
            arns.commit_table(),
            "the first commit creates the table; once it exists, only `DescribeTable` is needed",
        ),
    )
