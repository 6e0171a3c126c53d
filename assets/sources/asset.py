"""External assets: the buckets and queues where lineage starts."""

from __future__ import annotations

from itertools import chain

import dagster as dg

from tidegate.assets.keys import LakeNames
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.s3_address import S3Address


def dead_letters_of(config: LakeConfig) -> dict[str, str]:
    """Return the dead-letter queues of `lake.yaml`, each with the first queue that uses it."""
    sources: dict[str, str] = {}
    for spec in config.every_queue:
        if spec.dlq:
            sources.setdefault(spec.dlq, spec.name)
    return sources


def table_owners(config: LakeConfig, bucket: str | None = None) -> list[str]:
    """Return the owners of the configured tables, or only of tables with files in one bucket.

    None if one of the tables has no owner: what serves all of them is not that of the teams which the others name.
    """
    owners = [spec.owners for spec in config.tables if bucket in (None, spec.table_key.bucket)]
    return sorted(set(chain.from_iterable(owners))) if all(owners) else []


def source_assets(config: LakeConfig) -> list[dg.AssetSpec]:
    """Build an external asset for each bucket, queue and dead-letter queue. Its owners are those of its tables."""
    names = LakeNames.from_config(config)
    buckets = [
        dg.AssetSpec(
            names.bucket(bucket),
            group_name=names.name("sources"),
            owners=table_owners(config, bucket),
            kinds={"s3"},
            description=f"Source bucket s3://{bucket}: producers put files here, and S3 sends a notification of each "
            "file to a queue. The asset is never materialized.",
            metadata={"dagster/uri": S3Address(bucket).s3},
        )
        for bucket in config.buckets
    ]
    queues = [
        dg.AssetSpec(
            key,
            deps=[spec.key for spec in buckets],
            group_name=names.name("sources"),
            owners=table_owners(config),
            kinds={"sqs"},
            description="SQS queue of S3 event notifications. The intake sensor moves them to the lake's inbox.",
        )
        for key in (names.queue(spec.name) for spec in config.queues)
    ]
    row_queues = [
        dg.AssetSpec(
            names.queue(spec.row_queue.name),
            group_name=names.name("sources"),
            owners=list(spec.owners),
            kinds={"sqs"},
            description=f"SQS queue of rows of bronze.{spec.name}. The intake sensor writes its messages to objects.",
        )
        for spec in config.tables
        if spec.row_queue
    ]
    dead_letters = [
        dg.AssetSpec(
            names.queue(name),
            deps=[names.queue(source)],
            group_name=names.name("sources"),
            owners=table_owners(config),
            kinds={"sqs"},
            description=f"Dead letters of the queue {source}: messages that were received too often. Run the check "
            f"`is_empty` to see some with their reasons. Fix the cause, then send them to their queue again with "
            f"`tidegate redrive --dlq {name}`, or turn on the sensor `dead_letters`, which reads this queue.",
        )
        for name, source in dead_letters_of(config).items()
    ]
    return [*buckets, *queues, *row_queues, *dead_letters]
