"""The bronze asset: one dynamic partition per table prefix."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg

from tidegate.assets.bronze.previous import PendingCleanup, PreviousReport, TableSnapshot, row_count
from tidegate.assets.bronze.report import Shown, check_specs, page_key
from tidegate.assets.bronze.run import BatchResult, run_table
from tidegate.assets.runs.listener import RunListener
from tidegate.assets.runs.options import RunOptions
from tidegate.assets.runs.tags import ALLOW_REMOVALS_TAG, LISTED_TAG, TRIGGER_TAG
from tidegate.assets.sources.asset import queue_keys, table_owners
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.inventory_comparison import InventoryComparison
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.first_line import one_line
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.resources.lake import Table
from tidegate.resources.lake_resource import LakeResource
from tidegate.resources.lake_root.after_notes import files_of

TABLES = dg.DynamicPartitionsDefinition(name="tables")
BRONZE = dg.AssetKey(["bronze"])

#: Batches that are looked at for one with news: a load and what after-load took away take turns.
_LOOKS_BACK = 5


def build_bronze(config: LakeConfig) -> dg.AssetsDefinition:
    """The bronze asset of a lake.

    ``backfill_policy`` stays unset: with any policy, backfill runs carry no ``dagster/partition`` tag and bypass
    the limit of one run per table.
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
        "exactly once. Parquet is registered where it lies, each other format is loaded.",
        check_specs=check_specs(BRONZE, TABLES),
        # A run that only quarantined leaves its partition as it was.
        output_required=False,
    )
    def bronze(context: dg.AssetExecutionContext, lake: LakeResource) -> Iterator[Any]:
        shown = work_off(context.op_execution_context, lake.open().table(context.partition_key))
        checks = shown.checks(BRONZE)
        if shown.materializes:
            yield dg.MaterializeResult(metadata=shown.metadata("dagster/partition_row_count"), check_results=checks)
        else:
            yield from checks
        if spec := config.table_for(TableKey.decode(context.partition_key)):
            for event in shown.events(page_key(spec)):
                context.log_event(event)

    return bronze


class _DagsterListener(RunListener):
    """Writes a run's progress into Dagster's log, and how far its listing came into the run's tags."""

    def __init__(self, context: dg.OpExecutionContext, said: str) -> None:
        self._context, self._said = context, said
        self.comparison: InventoryComparison | None = None

    def log(self, line: str) -> None:
        """Log a line."""
        self._context.log.info(one_line(f"{self._said}{line}"))

    def came_to(self, key: str) -> None:
        """Note the key in the tags of the run, unless several tables share the run."""
        if not self._said:
            note_listing(self._context.instance, self._context.run_id, key)

    def inventoried(self, comparison: InventoryComparison) -> None:
        """Keep the comparison for the report."""
        self.comparison = comparison


def work_off(context: dg.OpExecutionContext, table: Table, *, said: str = "") -> Shown:
    """Bring one table up to date with its inbox, in a run of Dagster's; what there is to show of it.

    Args:
        context: of the run, whose tags say what it may do.
        table: the table.
        said: what stands before each line of the log.
    """
    tags = context.run.tags
    options = RunOptions(
        run_id=context.run_id,
        listing=tags.get(TRIGGER_TAG) != "sensor",
        # Of one table, so a shared run, which lists none, has no such tag.
        after="" if said else tags.get(LISTED_TAG, ""),
        allow_removals=tags.get(ALLOW_REMOVALS_TAG) == "true",
    )
    listener = _DagsterListener(context, said)
    done = run_table(table, options, listener)
    shown = show(table, done, last_shown(context.instance, BRONZE, table.text))
    if listener.comparison:
        shown = replace(shown, inventoried=listener.comparison)
    for line in shown.warnings():
        context.log.warning(one_line(f"{said}{line}"))
    return shown


def note_listing(instance: dg.DagsterInstance, run_id: str, key: str) -> None:
    """Write into a run's tags how far its listing came; nothing for a listing that came to its end at once."""
    run = instance.get_run_by_id(run_id) if not key else None
    if key or (run and run.tags.get(LISTED_TAG)):
        instance.add_run_tags(run_id, {LISTED_TAG: key})


def last_shown(instance: dg.DagsterInstance, asset: dg.AssetKey, partition: str | None = None) -> PreviousReport:
    """What the newest materialization of an asset, or of a partition of it, showed."""
    wanted = dg.AssetRecordsFilter(asset, asset_partitions=[partition] if partition else None)
    for record in instance.fetch_materializations(wanted, limit=1).records:
        if record.asset_materialization:
            metadata = record.asset_materialization.metadata
            return PreviousReport.of({name: value.value for name, value in metadata.items()})
    return PreviousReport()


def show(table: Table, done: Sequence[BatchResult], before: PreviousReport) -> Shown:
    """Look at a table after a run, or between two.

    Args:
        table: the table.
        done: the run's batches.
        before: what was shown last.
    """
    table = table.reopened()
    birth, last = table.birth, _last_news(table) if all(one.batch.only_moves for one in done) else None
    state, waits = table.delta.table_state(birth.location) if birth else None, _waits(table)
    if birth is None or state is None or not state.exists or not state.has_columns:
        return Shown(done, TableSnapshot(birth.name if birth else table.spec.name, waits=waits), before, last)
    rows = row_count(
        before, done, state.version, lambda: table.delta.session.read.format("delta").load(birth.location).count()
    )
    return Shown(
        done, TableSnapshot(birth.name, S3Address.parse_s3a(birth.location).s3, state, rows, waits), before, last
    )


def _waits(table: Table) -> PendingCleanup | None:
    if table.spec.after_load == "keep":
        return None
    ids = table.after_notes.ids()
    notes = table.after_notes.read(ids[-1:])
    return PendingCleanup(files_of(ids), {key: why for note in notes for key, why in note.keys.items() if why})


def _last_news(table: Table) -> Batch | None:
    """The last batch that landed and told of more than what after-load took away; None where it is long ago."""
    n = table.ledger.clock()[1]
    for number in range(n, max(0, n - _LOOKS_BACK), -1):
        batch = None if number in table.batches.void(number - 1) else table.batches.read(number)
        if batch is None or not batch.only_moves:
            return batch
    return None
