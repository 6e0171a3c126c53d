"""The bronze asset: one dynamic partition per table prefix."""

import json
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import dagster as dg
from pyspark.sql.types import StructType

from tidegate.assets.bronze.run import Done, run_table
from tidegate.assets.sources import queue_keys, table_owners
from tidegate.assets.volume import volume
from tidegate.platform.core.lake import LakeConfig
from tidegate.platform.core.ledger import OVERWRITTEN, Status
from tidegate.resources.lake import Lake
from tidegate.resources.lake_resource import LakeResource

TABLES = dg.DynamicPartitionsDefinition(name="tables")
BRONZE = dg.AssetKey(["bronze"])

#: The tag of runs that the intake sensor asked for; they work off the inbox and need not list the prefix.
TRIGGER_TAG = "tidegate/trigger"
ALLOW_REMOVALS_TAG = "tidegate/allow-removals"

WRITE_ONCE_CHECK = "write_once_keys"
QUARANTINE_CHECK = "nothing_quarantined"


def build_bronze(config: LakeConfig) -> dg.AssetsDefinition:
    """The bronze asset of a lake.

    ``backfill_policy`` stays unset: with any policy, backfill runs carry no ``dagster/partition`` tag and pass by the
    limit of one run per table.
    """

    @dg.asset(
        key=BRONZE,
        partitions_def=TABLES,
        deps=queue_keys(config),
        group_name="bronze",
        owners=table_owners(config),
        kinds={"deltalake", "pyspark", "bronze"},
        tags={"tidegate/layer": "bronze"},
        description="Append-only Delta tables, one partition per table prefix: every file that lands is in its table "
        "exactly once. Parquet is registered where it lies, CSV and JSON lines are loaded.",
        check_specs=_check_specs(),
    )
    def bronze(context: dg.AssetExecutionContext, lake: LakeResource) -> Iterator[Any]:
        handles = lake.open()
        done = run_table(
            handles,
            context.partition_key,
            run_id=context.run_id,
            listing=context.run.tags.get(TRIGGER_TAG) != "sensor",
            allow_removals=context.run.tags.get(ALLOW_REMOVALS_TAG) == "true",
            log=context.log.info,
        )
        yield dg.MaterializeResult(
            metadata=_metadata(handles, context.partition_key, done), check_results=_checks(done)
        )

    return bronze


def _check_specs() -> list[dg.AssetCheckSpec]:
    with warnings.catch_warnings():
        # Checks by partition are a preview in Dagster 1.13. Without it, a good run of one table would hide the
        # failed check of another.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(
                WRITE_ONCE_CHECK,
                asset=BRONZE,
                partitions_def=TABLES,
                description="No key of a registered table was overwritten.",
            ),
            dg.AssetCheckSpec(
                QUARANTINE_CHECK,
                asset=BRONZE,
                partitions_def=TABLES,
                description="Every object and row of the run's batches could be ingested.",
            ),
        ]


def _metadata(lake: Lake, text: str, done: list[Done]) -> dict[str, Any]:
    landed = [one.batch for one in done if one.landed.outcome == "committed"]
    counts = sum((batch.counts() for batch in landed), Counter())
    metadata: dict[str, Any] = {
        **volume(landed),
        "batches": len(done),
        "events": counts.total(),
        "duplicates": counts[str(Status.DUPLICATE)],
        "removed": counts[str(Status.REMOVED)],
        "quarantined": counts[str(Status.QUARANTINED)],
    }
    table = lake.table(text)
    if table.birth and (state := lake.delta.table_state(table.birth.location)).exists:
        # Delta answers this from the log's statistics, without reading a file.
        rows = lake.delta.session.read.format("delta").load(table.birth.location).count()
        metadata |= {
            "dagster/uri": table.birth.location.replace("s3a://", "s3://"),
            "dagster/table_name": f"bronze.{table.birth.name}",
            "dagster/column_schema": _columns(state.schema),
            "dagster/partition_row_count": rows,
            "delta_version": done[-1].landed.version if done else state.version,
            "live_files": state.files,
        }
    if done:
        metadata["batch"] = done[-1].batch.n
    return metadata


def _columns(schema: dict[str, Any]) -> dg.TableSchema:
    fields = StructType.fromJson(json.loads(json.dumps(schema))).fields
    return dg.TableSchema([dg.TableColumn(field.name, field.dataType.simpleString()) for field in fields])


def _checks(done: list[Done]) -> list[dg.AssetCheckResult]:
    quarantined = [row for one in done for row in one.batch.rows if row.status == Status.QUARANTINED]
    overwritten = [row.key for row in quarantined if (row.reason or "").startswith(OVERWRITTEN)]
    bad_rows = sum(row.bad_rows or 0 for one in done for row in one.batch.rows)
    reasons = {row.key: row.reason or "" for row in quarantined[:20]}
    return [
        dg.AssetCheckResult(
            passed=not overwritten,
            check_name=WRITE_ONCE_CHECK,
            asset_key=BRONZE,
            metadata={"overwritten_keys": overwritten[:20]},
        ),
        dg.AssetCheckResult(
            passed=not quarantined and not bad_rows,
            check_name=QUARANTINE_CHECK,
            asset_key=BRONZE,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"objects": len(quarantined), "rows": bad_rows, "reasons": reasons},
        ),
    ]
