"""The report of a bronze run in Dagster: metadata, checks, and warnings about bad input."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from tidegate.assets.bronze.previous_report import PreviousReport, TableSnapshot
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.check_events import check_result, evaluation_event
from tidegate.assets.presentation.columns import column_changes, column_schema
from tidegate.assets.presentation.example_queries import bronze_queries, format_queries
from tidegate.assets.presentation.markdown import list_lines
from tidegate.platform.bronze.listener import InventoryComparison
from tidegate.platform.bronze.run import BatchResult
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import Cause, LedgerRow, Status, format_reason
from tidegate.platform.core.bronze.volume import volume
from tidegate.platform.core.catalog.readers import readers_of
from tidegate.platform.core.completion.waiting_datasets import WaitingDatasets
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.events.row_queue import RowObject
from tidegate.platform.core.inventory.late_buckets import LateInventory
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.markdown import code, sentence

WRITE_ONCE_CHECK = "write_once_keys"
QUARANTINE_CHECK = "nothing_quarantined"
SCHEMA_CHECK = "schema_unchanged"
AFTER_LOAD_CHECK = "after_load"
DATASETS_CHECK = "datasets_complete"
#: Metadata of a check if this run has nothing to check and repeats the result of an earlier run.
SAID_BEFORE = "said_before"
#: Metadata of `QUARANTINE_CHECK`: number of objects without a state in the ledger.
WITHOUT_STATE = "objects_without_state"

#: Objects that a report lists. The ledger has all of them.
MAX_LISTED_OBJECTS = 20
_MAX_LISTED_TYPES = 100
#: Dagster's metadata key for the number of rows of a partition.
PARTITION_ROWS = "dagster/partition_row_count"
#: What a partition shows of a run if its table has a page, which shows everything. `tidegate tail` and the health of
#: the lake read these values of all tables with one query.
_SUMMARY = ("files", "rows", "bytes", "removed", "quarantined", "batches", "batch", "delta_version")
_REASON_CHARACTERS_MAX = 500
_DESCRIPTIONS = {
    WRITE_ONCE_CHECK: "No key of a registered table was overwritten in the last batches.",
    QUARANTINE_CHECK: "Every object and row of the last batches could be ingested.",
    SCHEMA_CHECK: "The columns are those that the materialization before showed.",
}
_DATASETS = (
    "No completion signal waits for its files or is in quarantine, and no file came after its dataset had entered."
)
_AFTER_LOAD = "No file that was loaded waits to be moved, deleted or tagged, as after_load says."


@dataclass(frozen=True)
class TableReport:
    """A run's batches, and the table before and after them.

    Attributes:
        done: the batches of the run.
        now: the table after the run.
        last: the latest earlier batch that changed rows, if no batch of the run did. The checks are about it.
        inventory_comparison: the run's comparison with the table's inventory. None if there was no comparison.
    """

    done: Sequence[BatchResult]
    now: TableSnapshot
    before: PreviousReport = field(default_factory=PreviousReport)
    last: Batch | None = None
    inventory_comparison: InventoryComparison | None = None

    @property
    def landed(self) -> list[Batch]:
        """The run's batches that are not void."""
        return [result.batch for result in self.done if result.landed.outcome == "committed"]

    @property
    def only_bad(self) -> bool:
        """Whether the batches that the checks are about contain only bad objects."""
        changed = any(batch.adds or batch.removes for batch in self._judged)
        statuses = {row.status for batch in self._judged for row in batch.rows}
        return Status.QUARANTINED in statuses and not changed and not statuses & {Status.COMMITTED, Status.REMOVED}

    @property
    def materializes(self) -> bool:
        """Whether the run materializes the partition. Otherwise the partition keeps its last materialization."""
        return not self.only_bad or (not self.done and self.now.state is not None)

    def warnings(self) -> list[str]:
        """Return a line for each of the run's first bad objects, and a line for the rest."""
        bad = _quarantined_rows(self.landed)
        lines = [
            f"quarantined {row.key}: {_reason(row)}"
            if row.status == Status.QUARANTINED
            else f"quarantined {row.bad_rows} rows of {row.key}: {_reason(row)}"
            for row in bad[:MAX_LISTED_OBJECTS]
        ]
        more = len(bad) - MAX_LISTED_OBJECTS
        return [*lines, f"and {more} more, see ledger.{self.now.name}"] if more > 0 else lines

    def metadata(self, row_count: str) -> dict[str, Any]:
        """Return the metadata of the materialization.

        Args:
            row_count: Dagster's metadata key for the number of rows of a partition, or of a table.
        """
        counts = sum((batch.counts() for batch in self.landed), Counter())
        found: dict[str, Any] = {
            **volume(self.landed),
            "batches": len(self.done),
            "events": counts.total(),
            "duplicates": counts[str(Status.DUPLICATE)],
            "removed": counts[str(Status.REMOVED)],
            **({"moved": counts[str(Status.MOVED)]} if counts[str(Status.MOVED)] else {}),
            "quarantined": counts[str(Status.QUARANTINED)],
        }
        if again := sum(_repeated_row_count(row) for batch in self.landed for row in batch.rows):
            found["rows_that_came_again"] = again
        if types := _event_types(self.landed):
            found["event_types"] = types
        if bad := _quarantined_rows(self.landed):
            found["quarantine"] = _bad_objects_table(bad)
        if self.now.waits:
            found["waits_for_after_load"] = self.now.waits.files
        if datasets := self.now.datasets:
            found["waiting_files"] = datasets.files
            if datasets.since is not None:
                found["waiting_since"] = dg.MetadataValue.timestamp(datasets.since)
            if datasets.signals:
                found["waiting_signals"] = _signals(datasets)
        if self.now.late is not None:
            found |= _late_metadata(self.now.late)
        if comparison := self.inventory_comparison:
            found |= {
                "inventory": comparison.uri,
                "inventory_created": dg.MetadataValue.timestamp(comparison.created),
                "inventory_keys": comparison.keys,
                "inventory_differences": comparison.differing,
            }
        if objects := sum(len(batch.objects) for batch in self.landed):
            found["objects"] = objects
        found |= self._table(row_count)
        if changes := self._schema_changes():
            found["schema_changes"] = list_lines(changes)
        if self.done:
            found["batch"] = self.done[-1].batch.n
        return found

    def summary(self, page: dg.AssetKey) -> dict[str, Any]:
        """Return the metadata of the materialization of a partition whose table has a page."""
        metadata = self.metadata(PARTITION_ROWS)
        return {name: metadata[name] for name in _SUMMARY if name in metadata} | {"page": dg.MetadataValue.asset(page)}

    def checks(self, asset: dg.AssetKey) -> list[dg.AssetCheckResult]:
        """Return the results of the checks of `check_specs` for one asset."""
        bad = _quarantined_rows(self._judged)
        overwritten = [row.key for row in bad if row.cause is Cause.OVERWRITTEN and row.status == Status.QUARANTINED]
        changes = self._schema_changes()
        return [
            check_result(
                asset_key=asset,
                check_name=WRITE_ONCE_CHECK,
                passed=not overwritten,
                metadata={"overwritten_keys": overwritten[:MAX_LISTED_OBJECTS]},
            ),
            self.quarantine_check(asset, {"quarantine": _bad_objects_table(bad)} if bad else {}),
            check_result(
                asset_key=asset,
                check_name=SCHEMA_CHECK,
                passed=not changes,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"changes": changes},
            ),
            *self._check_after_load(asset),
            *self._datasets(asset),
        ]

    def quarantine_check(self, asset: dg.AssetKey, listed: Mapping[str, Any] | None = None) -> dg.AssetCheckResult:
        """Return the result of the check of quarantined objects.

        Args:
            asset: the table's own page, or bronze.
            listed: metadata that lists the objects. None on a partition whose table has a page: the page has them. The
                lake's health reads the numbers of all tables from the partitions, with one query.
        """
        bad = _quarantined_rows(self._judged)
        quarantined = [row for row in bad if row.status == Status.QUARANTINED]
        counts = {"objects": len(quarantined), "rows": sum(row.bad_rows or 0 for row in bad)}
        # An object without a state, such as one to which S3 denies access, is found again by each listing.
        if stateless := sum(row.etag is None for row in quarantined):
            counts[WITHOUT_STATE] = stateless
        if bad and not any(batch in self.landed for batch in self._judged):
            counts[SAID_BEFORE] = True
        return check_result(
            asset_key=asset,
            check_name=QUARANTINE_CHECK,
            passed=not bad,
            severity=dg.AssetCheckSeverity.ERROR if self.only_bad else dg.AssetCheckSeverity.WARN,
            metadata={**counts, **(listed or {})},
            description=sentence("no row was added, see {}", code(f"ledger.{self.now.name}"))
            if self.only_bad and listed is not None
            else None,
        )

    def run_events(
        self, bronze: dg.AssetKey, table: str, page: dg.AssetKey | None
    ) -> list[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
        """Return what a run shows of a table, as events: on its page, if it has one, and on its partition.

        The partition comes last: a reader that finds it finds the page.

        Args:
            bronze: the asset of all tables.
            table: table key, the partition of `bronze`.
            page: the table's own page, if it has one.
        """
        if page is None:
            return self.events(bronze, table)
        check = evaluation_event(self.quarantine_check(bronze), table)
        made = dg.AssetMaterialization(bronze, partition=table, metadata=self.summary(page))
        return [*self.events(page), *([made] if self.materializes else []), check]

    def events(
        self, asset: dg.AssetKey, partition: str | None = None
    ) -> list[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
        """Return the whole report as events, for a run that logs them because no step of it materializes the asset.

        Args:
            asset: the table's own page, or bronze for a table without a page.
            partition: partition of bronze. None for a page.
        """
        checks = [evaluation_event(result, partition) for result in self.checks(asset)]
        if not self.materializes:
            return [*checks]
        metadata = self.metadata(PARTITION_ROWS if partition else "dagster/row_count")
        return [dg.AssetMaterialization(asset, partition=partition, metadata=metadata), *checks]

    def _check_after_load(self, asset: dg.AssetKey) -> list[dg.AssetCheckResult]:
        """Return the check of after-load. Only pages have it: most partitions of bronze keep their files."""
        waits = self.now.waits
        if waits is None or len(asset.path) == 1:
            return []
        files = [
            dg.TableRecord({"key": key, "reason": why}) for key, why in list(waits.reasons.items())[:MAX_LISTED_OBJECTS]
        ]
        return [
            check_result(
                asset_key=asset,
                check_name=AFTER_LOAD_CHECK,
                passed=not waits.files,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"files": waits.files, **({"waiting": dg.MetadataValue.table(files)} if files else {})},
            )
        ]

    def _datasets(self, asset: dg.AssetKey) -> list[dg.AssetCheckResult]:
        """Return the check of completion signals. Only pages have it: most partitions of bronze have no signals."""
        datasets = self.now.datasets
        if datasets is None or len(asset.path) == 1:
            return []
        signals = {"waiting_signals": _signals(datasets)} if datasets.signals else {}
        return [
            check_result(
                asset_key=asset,
                check_name=DATASETS_CHECK,
                passed=not datasets.signals and not datasets.late,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"waiting_files": datasets.files, "late_files": datasets.late, **signals},
            )
        ]

    @property
    def _judged(self) -> list[Batch]:
        # After-load's batch follows each load. It must not hide what the load could not ingest.
        return [batch for batch in self.landed if not batch.only_moves] or ([self.last] if self.last else [])

    def _table(self, row_count: str) -> dict[str, Any]:
        """Return the metadata of the Delta table, or of the output."""
        state, found = self.now.state, dict[str, Any]()
        if self.now.uri and not state:
            found["dagster/uri"] = self.now.uri
        if self.now.columns:
            found["dagster/column_schema"] = column_schema(self.now.columns, self.now.descriptions)
        if state:
            found |= {
                "dagster/uri": self.now.uri,
                "dagster/table_name": f"bronze.{self.now.name}",
                "dagster/column_schema": column_schema(state.schema, self.now.descriptions),
                row_count: self.now.rows,
                "delta_version": state.version,
                "live_files": state.files,
                "readers": list_lines(readers_of(state.features, state.schema)),
            }
            if row_count == PARTITION_ROWS:
                # A page has them in its definition. A discovered table has no page.
                found["sql"] = format_queries(bronze_queries(self.now.name))
        return found

    def _schema_changes(self) -> list[str]:
        columns = self.now.state.schema if self.now.state else self.now.columns
        return column_changes(self.before.columns, column_schema(columns) if columns else None)


def _late_metadata(inventories: Sequence[LateInventory]) -> dict[str, Any]:
    if not inventories:
        return {"late_inventories": 0}
    return {"late_inventories": len(inventories), "late_buckets": list_lines(inventories[:MAX_LISTED_OBJECTS])}


def page_of(config: LakeConfig, table_key: str) -> dg.AssetKey | None:
    """Return the asset key of a table's own page. None if lake.yaml does not have the table."""
    spec = config.table_for(TableKey.decode(table_key))
    return LakeNames.from_config(config).bronze_table(spec.name) if spec else None


def check_specs(
    asset: dg.AssetKey,
    partitions: dg.PartitionsDefinition[str] | None = None,
    *,
    after_load: bool = False,
    completion: bool = False,
) -> list[dg.AssetCheckSpec]:
    """Return the checks of a bronze asset.

    Args:
        after_load: whether the asset has the check of after-load.
        completion: whether the asset has the check of completion signals.
    """
    descriptions = {
        **_DESCRIPTIONS,
        **({AFTER_LOAD_CHECK: _AFTER_LOAD} if after_load else {}),
        **({DATASETS_CHECK: _DATASETS} if completion else {}),
    }
    with warnings.catch_warnings():
        # Partitioned checks are a preview in Dagster 1.13. Without partitions, a good run of one table would hide the
        # failed check of another.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(name, asset=asset, partitions_def=partitions, description=description)
            for name, description in descriptions.items()
        ]


def _repeated_row_count(row: LedgerRow) -> int:
    """Return the number of a row-queue object's rows that the table had already.

    The object's name contains the number of its messages.
    """
    found = RowObject.from_key(row.key) if row.status == Status.COMMITTED else None
    return found.rows - (row.rows or 0) - (row.bad_rows or 0) if found else 0


def _event_types(batches: Sequence[Batch]) -> dg.MetadataValue[Any] | None:
    """Return the number of decisions by event type, the most frequent first. None if no event has a type."""
    counts = Counter(row.event_type for batch in batches for row in batch.rows)
    if not counts.keys() - {None}:
        return None
    return dg.MetadataValue.table(
        [
            dg.TableRecord({"event_type": name or "none", "events": number})
            for name, number in counts.most_common(_MAX_LISTED_TYPES)
        ]
    )


def _quarantined_rows(batches: Sequence[Batch]) -> list[LedgerRow]:
    """Return the ledger rows of objects that were quarantined, wholly or partly."""
    rows = (row for batch in batches for row in batch.rows)
    # A removed object has `bad_rows` from its load, whose report listed them.
    return [row for row in rows if row.status == Status.QUARANTINED or (row.bad_rows and row.status != Status.REMOVED)]


def _bad_objects_table(bad: Sequence[LedgerRow]) -> dg.MetadataValue[Any]:
    return dg.MetadataValue.table(
        [dg.TableRecord({"key": row.key, "reason": _reason(row)}) for row in bad[:MAX_LISTED_OBJECTS]]
    )


def _signals(datasets: WaitingDatasets) -> dg.MetadataValue[Any]:
    return dg.MetadataValue.table(
        [dg.TableRecord({"signal": key, "reason": reason}) for key, reason in datasets.signals.items()]
    )


def _reason(row: LedgerRow) -> str:
    return format_reason(row.reason or "no reason was given", row.bad_rows_folder, _REASON_CHARACTERS_MAX)
