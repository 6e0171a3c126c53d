"""External assets: the buckets and queues where lineage starts."""

from __future__ import annotations

import dagster as dg

from tidegate.platform.core.lake import LakeConfig


def queue_key(name: str) -> dg.AssetKey:
    """Asset key of a queue."""
    return dg.AssetKey(["sqs", name])


def queue_keys(config: LakeConfig) -> list[dg.AssetKey]:
    """Asset keys of the queues."""
    return [queue_key(spec.known_as) for spec in config.every_queue]


def table_owners(config: LakeConfig, bucket: str | None = None) -> list[str]:
    """Owners of the configured tables, or of those whose files lie in one bucket."""
    return sorted({owner for spec in config.tables if bucket in (None, spec.table_key.bucket) for owner in spec.owners})


def source_assets(config: LakeConfig) -> list[dg.AssetSpec]:
    """One external asset for each source bucket and each queue, owned by those who own its tables."""
    buckets = [
        dg.AssetSpec(
            dg.AssetKey(["s3", bucket]),
            group_name="sources",
            owners=table_owners(config, bucket),
            kinds={"s3"},
            description=f"Source bucket s3://{bucket}: producers put files here, and S3 notifies the queue.",
            metadata={"dagster/uri": f"s3://{bucket}/"},
        )
        for bucket in config.buckets
    ]
    queues = [
        dg.AssetSpec(
            key,
            deps=[spec.key for spec in buckets],
            group_name="sources",
            owners=table_owners(config),
            kinds={"sqs"},
            description="SQS queue of S3 event notifications; the intake sensor drains it into the lake's inbox.",
        )
        for key in (queue_key(spec.known_as) for spec in config.queues)
    ]
    row_queues = [
        dg.AssetSpec(
            queue_key(spec.row_queue.known_as),
            group_name="sources",
            owners=list(spec.owners),
            kinds={"sqs"},
            description=f"SQS queue of rows of bronze.{spec.name}; the intake sensor makes objects of its messages.",
        )
        for spec in config.tables
        if spec.row_queue
    ]
    return [*buckets, *queues, *row_queues]
