"""The permissions of a person who only looks: `status`, `trace`, `why`, `tail` and `sql`."""

from __future__ import annotations

from tidegate.platform.cloud.roles.lake_arns import LakeArns, owned
from tidegate.platform.cloud.statement import Statement, Statements, without_empty
from tidegate.platform.core.config.lake import LakeConfig


def reader(config: LakeConfig) -> Statements:
    """Return what the commands need that change nothing. Queries run on the Spark server, with its role."""
    arns = LakeArns(config)
    return without_empty(
        *owned(
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
            ("sqs:GetQueueAttributes", *(("sqs:GetQueueUrl",) if _named(config) else ())),
            (*arns.queues(), *arns.dead_letters()),
            "`status`: how many messages wait",
        ),
    )


def _named(config: LakeConfig) -> bool:
    return any(queue.given_name for queue in config.every_queue)
