"""The assets of maintenance: bronze by table, each silver table, and the objects under the lake root.

A run of a table has the limit of the table's other runs: the tag of the partition for bronze, the pool for silver.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import dagster as dg
from pydantic import Field

from tidegate.assets.keys import MAINTENANCE, MAINTENANCE_JOB, LakeNames
from tidegate.assets.presentation.markdown import list_lines, markdown
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.runs.executor import run_executor
from tidegate.assets.runs.held_tables import RunTables, is_forgetting, is_rebuild, other_run
from tidegate.assets.sources.asset import table_owners
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.markdown import sentence
from tidegate.platform.maintenance.deletion import FreedObjects
from tidegate.platform.maintenance.old_objects import maintain_objects
from tidegate.platform.maintenance.tables import MaintenanceResult, TableBusy, maintain_bronze, maintain_silver
from tidegate.resources.lake_resource import LakeResource, with_lake

_Work = Callable[..., list[MaintenanceResult]]


_MANUAL_RUN_TEXT = (
    " Materialized by a click, it is a dry run, which changes nothing and shows what it found below. Set `dry_run` to "
    "false in the Launchpad to do it."
)


class MaintenanceConfig(dg.Config):
    """How maintenance runs."""

    dry_run: bool = Field(True, description="Only show what would be done. The schedule sets it to false.")


def build_maintenance(config: LakeConfig) -> list[dg.AssetsDefinition]:
    """Build the assets of maintenance of a lake."""
    merged = [spec for spec in config.tables if spec.silver]
    return [_bronze(config), *(_silver(LakeNames.from_config(config), spec) for spec in merged), _lake(config)]


def maintenance_job(config: LakeConfig) -> Any:
    """Build the job of all maintenance. A run of it has one asset."""
    names = LakeNames.from_config(config)
    silver = [names.maintained_silver(spec.name) for spec in config.tables if spec.silver]
    return dg.define_asset_job(
        names.name(MAINTENANCE_JOB),
        selection=[names.maintained_bronze, *silver, names.maintained_lake],
        executor_def=run_executor,
        description="Maintains tables: merges small files, writes checkpoints, deletes what no version needs.",
    )


def _bronze(config: LakeConfig) -> dg.AssetsDefinition:
    names = LakeNames.from_config(config)

    def writes(tables: RunTables, table: str, run: dg.DagsterRun) -> bool:
        return (names.holds(run) and table in tables.find_held(run)) or is_forgetting(run, names)

    @dg.asset(
        key=names.maintained_bronze,
        partitions_def=names.tables,
        group_name=names.name(MAINTENANCE),
        owners=table_owners(config),
        kinds={"deltalake"},
        description="Maintenance of a bronze table and its ledger, one partition per table: small files are merged, "
        "the log gets a checkpoint, and files that no version needs are deleted. The files of a registered table are "
        f"never touched.{_MANUAL_RUN_TEXT}",
        output_required=False,
    )
    @with_lake(names.resource)
    def maintained_bronze(context: dg.AssetExecutionContext, config: MaintenanceConfig, lake: LakeResource) -> Any:
        table = context.partition_key
        work = partial(maintain_bronze, lake.open(table), table)
        yield from _run(context, config, work, partial(writes, RunTables(context.instance), table))

    return maintained_bronze


def _silver(names: LakeNames, spec: TableSpec) -> dg.AssetsDefinition:
    @dg.asset(
        key=names.maintained_silver(spec.name),
        # The pool of its merges.
        pool=names.label(f"silver.{spec.name}"),
        group_name=names.name(MAINTENANCE),
        owners=list(spec.owners),
        kinds={"deltalake"},
        description=f"Maintenance of silver.{spec.name}: small files and files with many deleted rows are written "
        f"again, the log gets a checkpoint, and files that no version needs are deleted.{_MANUAL_RUN_TEXT}",
        output_required=False,
    )
    @with_lake(names.resource)
    def maintained(context: dg.AssetExecutionContext, config: MaintenanceConfig, lake: LakeResource) -> Any:
        key = names.silver_table(spec.name)

        def writes(run: dg.DagsterRun) -> bool:
            if run.job_name == names.silver_job(spec.name) or key in (run.asset_selection or ()):
                return True
            # These runs do not have the pool, because their config or the requests choose their tables.
            return is_rebuild(run, names, f"silver.{spec.name}") or is_forgetting(run, names)

        yield from _run(
            context, config, partial(maintain_silver, lake.open(spec.table_key.encode()), spec.name), writes
        )

    return maintained


def _lake(config: LakeConfig) -> dg.AssetsDefinition:
    names = LakeNames.from_config(config)

    @dg.asset(
        key=names.maintained_lake,
        group_name=names.name(MAINTENANCE),
        owners=table_owners(config),
        kinds={"s3"},
        description="Retention of the intake log, of copies that runs left, and of the quarantine if `maintain` of "
        f"lake.yaml gives it one.{_MANUAL_RUN_TEXT}",
        output_required=False,
    )
    @with_lake(names.resource)
    def maintained_lake(context: dg.AssetExecutionContext, config: MaintenanceConfig, lake: LakeResource) -> Any:
        def work(**options: Any) -> list[MaintenanceResult]:
            return maintain_objects(lake.open(), time.time(), **options)

        yield from _run(context, config, work, lambda run: False)

    return maintained_lake


def _run(
    context: dg.AssetExecutionContext,
    config: MaintenanceConfig,
    work: _Work,
    is_writer: Callable[[dg.DagsterRun], bool],
) -> Iterator[dg.MaterializeResult[Any]]:
    """Do the work and report it. A dry run materializes nothing, nor does a run of a table at which another run is.

    Dagster's limits keep runs apart. In an instance without them, this is asked of its storage.
    """
    if writer := other_run(context.instance, context.run_id, is_writer):
        RunLog(context.log).warning(f"nothing was done: run {writer} is at work on the table")
        return
    try:
        done = work(dry_run=config.dry_run, log=RunLog(context.log).info)
    except TableBusy as busy:
        RunLog(context.log).warning(f"nothing was done: {busy}")
        return
    if config.dry_run:
        found = metadata(done, dry_run=True)
        event = dg.AssetObservation(context.asset_key, partition=_partition(context), metadata=found)
        context.log_event(event)
    else:
        yield dg.MaterializeResult(metadata=metadata(done, dry_run=False))


def metadata(done: Sequence[MaintenanceResult], *, dry_run: bool) -> dict[str, Any]:
    """Return what maintenance did as metadata."""
    freed = sum((found.freed for found in done), FreedObjects())
    return {
        "dry_run": dry_run,
        "freed_files": freed.files,
        "freed_bytes": freed.size,
        "merged_files": sum(found.merged for found in done),
        "checkpoints": sum(found.checkpoint for found in done),
        "log_files": sum(found.log.files for found in done),
        "steps": list_lines(found.line(dry_run=dry_run) for found in done) if done else markdown(sentence("nothing")),
    }


def _partition(context: dg.AssetExecutionContext) -> str | None:
    return context.partition_key if context.has_partition_key else None
