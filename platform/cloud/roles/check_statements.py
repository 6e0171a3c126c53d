"""The permissions of `tidegate check` that nothing else needs. Dagster's role has them, so it runs next to Dagster."""

from __future__ import annotations

from tidegate.platform.cloud.roles.lake_arns import COPIES_FOLDER, LOG_FOLDER, PROBE, LakeArns, require_own_account
from tidegate.platform.cloud.roles.shared_statements import inventory_readings
from tidegate.platform.cloud.statement import Statement, Statements
from tidegate.platform.core.config.lake import LakeConfig


def check_statements(config: LakeConfig) -> Statements:
    """Return the statements: what `check` reads, and its probes. Statements without resources are among them."""
    arns = LakeArns(config)
    return (
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
        *require_own_account(arns, *_buckets(config, arns), *_probes(config, arns)),
        *inventory_readings(config),
    )


def _buckets(config: LakeConfig, arns: LakeArns) -> Statements:
    return (
        Statement(
            "Notifications",
            ("s3:GetBucketNotification",),
            tuple(map(arns.address.bucket, config.buckets)),
            "`check`",
        ),
        Statement(
            "BucketPolicies",
            ("s3:GetBucketPolicy",),
            tuple(map(arns.address.bucket, arns.registered_buckets)),
            "`check` asks whether producers can write to the logs of registered tables",
        ),
    )


def _probes(config: LakeConfig, arns: LakeArns) -> Statements:
    def probe_patterns(folder: str) -> tuple[str, ...]:
        """Return the probes in that folder of any table. One pattern for each bucket keeps the policy small."""
        return tuple(f"{arns.address.bucket(bucket)}/*{folder}{PROBE}*" for bucket in arns.registered_buckets)

    folders = (*config.after_load_folders, *config.output_roots)
    return (
        Statement(
            "LogProbes",
            ("s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"),
            probe_patterns(LOG_FOLDER),
            "`check` puts a probe next to the log of a registered table, and deletes it",
        ),
        Statement(
            "Probes",
            ("s3:DeleteObject",),
            (
                *probe_patterns(COPIES_FOLDER),
                *dict.fromkeys(f"{arns.address.folder(folder).removesuffix('*')}{PROBE}*" for folder in folders),
            ),
            "`check` deletes its probes",
        ),
    )
