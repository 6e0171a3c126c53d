"""The bronze asset: one dynamic partition per table prefix."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import dagster as dg

from tidegate.assets.bronze.backfill_run import MAX_TABLES, run_backfill
from tidegate.assets.bronze.previous_report import PendingCleanup, PreviousReport, TableSnapshot, row_count
from tidegate.assets.bronze.report import PARTITION_ROWS, TableReport, check_specs, page_of
from tidegate.assets.bronze.shared_run import show_failed
from tidegate.assets.keys import BRONZE_JOB, LakeNames
from tidegate.assets.presentation.failure_summary import readable_failure
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.runs.executor import run_executor
from tidegate.assets.runs.tags import ALLOW_REMOVALS_TAG, LISTED_TAG, TRIGGER_TAG
from tidegate.assets.sources.asset import table_owners
from tidegate.platform.bronze.listener import InventoryComparison, RunListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.prepare.inventories.newest_deliveries import find_late_inventories
from tidegate.platform.bronze.record import read_waiting_note
from tidegate.platform.bronze.run import BatchResult, run_table
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.catalog.descriptions import column_descriptions
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.lake_root.after_notes import files_of
from tidegate.platform.lake.spark.delta import NOT_SEEN
from tidegate.platform.lake.spark.results import CommitResult
from tidegate.resources.lake_resource import LakeResource, with_lake

#: Batches that are searched for the latest load. Between two loads there can be batches of after-load.
_BATCHES_LOOKED_BACK = 5


def build_bronze(config: LakeConfig) -> dg.AssetsDefinition:
    """Build the bronze asset of a lake.

    A run of a backfill has a range of partitions, and no tag `dagster/partition`. The limits of one run for each table
    know its tables by `RunTables`.
    """
    names = LakeNames.from_config(config)

    @dg.asset(
        key=names.bronze,
        partitions_def=names.tables,
        deps=[names.queue(spec.name) for spec in config.every_queue],
        group_name=names.name("bronze"),
        owners=table_owners(config),
        kinds={"deltalake", "pyspark", "bronze"},
        tags={"tidegate/layer": "bronze"},
        description="Append-only Delta tables, one partition per table prefix: every file that lands is in its table "
        "exactly once. Parquet is registered in place, every other format is loaded. With an output, the rows become "
        "objects of JSON lines or Parquet files instead. A table of lake.yaml has a page of its own, to which its "
        "partition has a link.",
        check_specs=check_specs(names.bronze, names.tables),
        # A run that only quarantines does not materialize its partition.
        output_required=False,
        backfill_policy=dg.BackfillPolicy.multi_run(MAX_TABLES),
    )
    @with_lake(names.resource)
    def bronze(context: dg.AssetExecutionContext, lake: LakeResource) -> Iterator[Any]:
        run = context.op_execution_context
        if not context.has_partition_key:
            with readable_failure():
                handles = lake.open(context.partition_keys[0])
            work = partial(_work_off_one_of_several, run, names, handles, config)
            yield from run_backfill(run, names, handles, partial(page_of, config), work)
            # Every table has its own evaluations. A result of the step would have no partition.
            yield from _outputs(context, [])
            return
        page = page_of(config, context.partition_key)
        with readable_failure():
            report = work_off(run, names, lake.open(context.partition_key).table(context.partition_key), page)
        for event in report.events(page) if page else []:
            context.log_event(event)
        checks = [report.quarantine_check(names.bronze)] if page else report.checks(names.bronze)
        metadata = report.summary(page) if page else report.metadata(PARTITION_ROWS)
        if report.materializes:
            yield dg.MaterializeResult(metadata=metadata, check_results=checks)
        else:
            yield from checks
        yield from _outputs(context, checks)

    return bronze


def bronze_job(config: LakeConfig) -> Any:
    """Build the job. A run of it has one partition of `bronze`."""
    names = LakeNames.from_config(config)
    return dg.define_asset_job(
        names.name(BRONZE_JOB),
        selection=dg.AssetSelection.assets(names.bronze),
        executor_def=run_executor,
        description="Brings one bronze table up to date with its inbox.",
    )


def _outputs(context: dg.AssetExecutionContext, checks: Sequence[dg.AssetCheckResult]) -> Iterator[dg.Output[None]]:
    """Yield the outputs of the checks that are not evaluated by a result of the step. Dagster requires them."""
    evaluated = {check.check_name for check in checks}
    for spec in context.assets_def.check_specs:
        if spec.name not in evaluated:
            yield dg.Output(None, spec.get_python_identifier())


def _work_off_one_of_several(
    context: dg.OpExecutionContext, names: LakeNames, lake: Lake, config: LakeConfig, table: str
) -> TableReport:
    return work_off(context, names, lake.table(table), page_of(config, table), prefix=f"{table}: ")


class _DagsterListener(RunListener):
    """Writes a run's progress into Dagster's log, and the last listed key into the run's tags."""

    def __init__(self, context: dg.OpExecutionContext, prefix: str) -> None:
        self._context, self._log, self._prefix = context, RunLog(context.log), prefix
        self.comparison: InventoryComparison | None = None
        self.done: list[BatchResult] = []

    def log(self, line: str) -> None:
        """Log a line."""
        self._log.info(f"{self._prefix}{line}")

    def warn(self, line: str) -> None:
        """Log a line as a warning."""
        self._log.warning(f"{self._prefix}{line}")

    def listing_reached(self, key: str) -> None:
        """Write the last listed key into the run's tags, unless several tables share the run."""
        if not self._prefix:
            note_listing(self._context.instance, self._context.run_id, key)

    def inventory_compared(self, comparison: InventoryComparison) -> None:
        """Keep the comparison for the report."""
        self.comparison = comparison

    def batch_recorded(self, batch: Batch, landed: CommitResult) -> None:
        """Keep the batch for the report of a run that fails later."""
        self.done.append(BatchResult(batch, landed))


def work_off(
    context: dg.OpExecutionContext, names: LakeNames, table: Table, page: dg.AssetKey | None, *, prefix: str = ""
) -> TableReport:
    """Bring one table up to date with its inbox, in a Dagster run. Returns the report of the run.

    If it fails after batches were recorded, their report is logged before the error is raised.

    Args:
        context: the run's context. The tags of the run decide what the run may do.
        names: the lake of the table.
        page: the table's own page, if it has one.
        prefix: begins each line of the log. Set if several tables share the run.
    """
    tags = context.run.tags
    options = RunOptions(
        run_id=context.run_id,
        listing=tags.get(TRIGGER_TAG) != "sensor",
        # The tag is of one table.
        after="" if prefix else tags.get(LISTED_TAG, ""),
        allow_removals=tags.get(ALLOW_REMOVALS_TAG) == "true",
    )
    listener = _DagsterListener(context, prefix)
    try:
        listener.done = run_table(table, options, listener)
    except (Exception, dg.DagsterExecutionInterruptedError):
        if listener.done:
            _log_recorded(context, names, table, page, listener)
            if not prefix:  # a shared run shows each table that failed
                show_failed(context, names, table.table_key)
        raise
    return _report(context, names, table, page, listener)


def _report(
    context: dg.OpExecutionContext, names: LakeNames, table: Table, page: dg.AssetKey | None, listener: _DagsterListener
) -> TableReport:
    before = _last_report(context.instance, names.bronze, table.table_key, page)
    report = table_report(table, listener.done, before)
    if listener.comparison:
        report = replace(report, inventory_comparison=listener.comparison)
    for line in report.warnings():
        listener.warn(line)
    return report


def _log_recorded(
    context: dg.OpExecutionContext, names: LakeNames, table: Table, page: dg.AssetKey | None, listener: _DagsterListener
) -> None:
    """Log the report of the batches that a run recorded before it failed.

    The error of the run must not be replaced by that of its report, for example if the Spark server is lost.
    """
    try:
        report = _report(context, names, table, page, listener)
        for event in report.run_events(names.bronze, table.table_key, page):
            context.log_event(event)  # type: ignore[arg-type]  # Dagster's annotation lacks evaluations of checks
    except Exception as error:
        first, last = (listener.done[place].batch.n for place in (0, -1))
        listener.warn(f"batches {first}..{last} are in the ledger and are not shown here: {first_line(error)}")


def note_listing(instance: dg.DagsterInstance, run_id: str, key: str) -> None:
    """Write the last listed key into a run's tags.

    Nothing is written for a listing that ends at once. Its key is empty.
    """
    run = instance.get_run_by_id(run_id) if not key else None
    if key or (run and run.tags.get(LISTED_TAG)):
        instance.add_run_tags(run_id, {LISTED_TAG: key})


def _last_report(
    instance: dg.DagsterInstance, bronze: dg.AssetKey, table: str, page: dg.AssetKey | None
) -> PreviousReport:
    """Return the previous report of a table.

    A partition has it, too, if its table got its page only now.
    """
    found = previous_report(instance, page) if page else PreviousReport()
    return previous_report(instance, bronze, table) if found == PreviousReport() else found


def previous_report(instance: dg.DagsterInstance, asset: dg.AssetKey, partition: str | None = None) -> PreviousReport:
    """Read the report in the newest materialization of an asset, or of one of its partitions."""
    wanted = dg.AssetRecordsFilter(asset, asset_partitions=[partition] if partition else None)
    for record in instance.fetch_materializations(wanted, limit=1).records:
        if record.asset_materialization:
            metadata = record.asset_materialization.metadata
            return PreviousReport.from_metadata({name: value.value for name, value in metadata.items()})
    return PreviousReport()


def table_report(table: Table, done: Sequence[BatchResult], before: PreviousReport) -> TableReport:
    """Report on a table after a run, or without a run.

    Args:
        done: the run's batches.
    """
    if not _is_of(table, done):
        table = table.reopen()
    birth, last = table.birth, _last_data_batch(table) if all(result.batch.only_moves for result in done) else None
    waits = _waits(table)
    if birth and birth.output and table.spec.output:
        newest = done[-1].batch if done else table.batches.read(table.ledger.clock().n)
        columns = newest.columns if newest else None
        snapshot = TableSnapshot(
            birth.name,
            table.spec.output.folder,
            waits=waits,
            columns=columns,
            descriptions=column_descriptions(table.spec),
        )
        return TableReport(done, snapshot, before, last)
    datasets = read_waiting_note(table.spec, table.table_key, table.ledger, table.lake.store)
    state = table.delta.table_state(birth.location, seen=_committed_version(done)) if birth else None
    if birth is None or state is None or not state.exists or not state.has_columns:
        name = birth.name if birth else table.spec.name
        return TableReport(done, TableSnapshot(name, waits=waits, datasets=datasets), before, last)
    rows = row_count(
        before, done, state.version, lambda: table.delta.session.read.format("delta").load(birth.location).count()
    )
    uri = S3Address.parse_s3a(birth.location).s3
    snapshot = TableSnapshot(
        birth.name,
        uri,
        state,
        rows,
        waits,
        datasets,
        late=find_late_inventories(table),
        descriptions=column_descriptions(table.spec),
    )
    return TableReport(done, snapshot, before, last)


def _is_of(table: Table, done: Sequence[BatchResult]) -> bool:
    """Return whether the last batch of a run is of the table as it was opened: born, and not reset since."""
    return bool(done) and table.birth is not None and table.birth.generation == done[-1].batch.generation


def _committed_version(done: Sequence[BatchResult]) -> int:
    """Return the version of the table that the last batch of a run made. `NOT_SEEN` if it made none."""
    return NOT_SEEN if not done or done[-1].landed.replayed else done[-1].landed.version


def _waits(table: Table) -> PendingCleanup | None:
    if table.spec.after_load == "keep":
        return None
    ids = table.after_notes.ids()
    notes = table.after_notes.read(ids[-1:])
    return PendingCleanup(files_of(ids), {key: why for note in notes for key, why in note.keys.items() if why})


def _last_data_batch(table: Table) -> Batch | None:
    """Return the latest batch that changed rows, not only recorded removals of after-load.

    None if the last batches have none.
    """
    n = table.ledger.clock().n
    for number in range(n, max(0, n - _BATCHES_LOOKED_BACK), -1):
        batch = None if number in table.batches.void_numbers(number - 1) else table.batches.read(number)
        if batch is None or not batch.only_moves:
            return batch
    return None
