"""What a bronze run shows in Dagster: metadata, checks, and what it says of bad input."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from tidegate.assets.bronze.previous import PreviousReport, TableSnapshot
from tidegate.assets.bronze.run import BatchResult
from tidegate.assets.presentation.check_events import as_event
from tidegate.assets.presentation.columns import column_changes, column_schema
from tidegate.assets.presentation.volume import volume
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.inventory_comparison import InventoryComparison
from tidegate.platform.core.bronze.ledger import OVERWRITTEN, LedgerRow, Status
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.events.row_object import RowObject

WRITE_ONCE_CHECK = "write_once_keys"
QUARANTINE_CHECK = "nothing_quarantined"
SCHEMA_CHECK = "schema_unchanged"
AFTER_LOAD_CHECK = "after_load"
#: Metadata of ``QUARANTINE_CHECK`` where nothing was set apart by this run: it says again what an earlier one found.
SAID_BEFORE = "said_before"
#: Metadata of its check: how many of the objects left no state in the ledger.
WITHOUT_STATE = "objects_without_state"

#: Objects that are told one by one; the ledger has all.
MOST_TOLD = 20
_LONGEST_REASON = 500
_DESCRIPTIONS = {
    WRITE_ONCE_CHECK: "No key of a registered table was overwritten in the last batches.",
    QUARANTINE_CHECK: "Every object and row of the last batches could be ingested.",
    SCHEMA_CHECK: "The columns are those that the materialization before showed.",
}
_AFTER_LOAD = "No file that was loaded waits to be moved, deleted or tagged, as after_load says."


@dataclass(frozen=True)
class Shown:
    """A run's batches, and what they made of the table.

    Attributes:
        done: the batches of the run.
        now: the table after them.
        before: what was shown last.
        last: of a run without news, the last batch before it that had some: what its checks speak of.
        inventoried: what the run's comparison with the table's inventory found, where there was one.
    """

    done: Sequence[BatchResult]
    now: TableSnapshot
    before: PreviousReport = field(default_factory=PreviousReport)
    last: Batch | None = None
    inventoried: InventoryComparison | None = None

    @property
    def landed(self) -> list[Batch]:
        """The run's batches that are not void."""
        return [one.batch for one in self.done if one.landed.outcome == "committed"]

    @property
    def only_bad(self) -> bool:
        """Whether the batches that the checks speak of brought bad objects and nothing else."""
        changed = any(batch.adds or batch.removes for batch in self._judged)
        statuses = {row.status for batch in self._judged for row in batch.rows}
        return Status.QUARANTINED in statuses and not changed and not statuses & {Status.COMMITTED, Status.REMOVED}

    @property
    def materializes(self) -> bool:
        """Whether there is something to show as materialized; if not, the partition stays what it was."""
        return not self.only_bad or (not self.done and self.now.state is not None)

    def warnings(self) -> list[str]:
        """A line for each of the run's first bad objects, and one for the rest."""
        bad = _bad(self.landed)
        told = [
            f"quarantined {row.key}: {_reason(row)}"
            if row.status == Status.QUARANTINED
            else f"quarantined {row.bad_rows} rows of {row.key}: {_reason(row)}"
            for row in bad[:MOST_TOLD]
        ]
        more = len(bad) - MOST_TOLD
        return [*told, f"and {more} more, see ledger.{self.now.name}"] if more > 0 else told

    def metadata(self, row_count: str) -> dict[str, Any]:
        """Metadata of the materialization.

        Args:
            row_count: Dagster's name for the number of rows: of a partition, or of a table.
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
        if again := sum(_came_again(row) for batch in self.landed for row in batch.rows):
            found["rows_that_came_again"] = again
        if bad := _bad(self.landed):
            found["quarantine"] = _as_table(bad)
        if self.now.waits:
            found["waits_for_after_load"] = self.now.waits.files
        if one := self.inventoried:
            found |= {
                "inventory": one.uri,
                "inventory_created": dg.MetadataValue.timestamp(one.created),
                "inventory_keys": one.keys,
                "inventory_differences": one.differing,
            }
        state = self.now.state
        if state:
            found |= {
                "dagster/uri": self.now.uri,
                "dagster/table_name": f"bronze.{self.now.name}",
                "dagster/column_schema": column_schema(state.schema),
                row_count: self.now.rows,
                "delta_version": self.done[-1].landed.version if self.done else state.version,
                "live_files": state.files,
            }
        if changes := self._schema_changes():
            found["schema_changes"] = dg.MetadataValue.md("\n".join(f"- {change}" for change in changes))
        if self.done:
            found["batch"] = self.done[-1].batch.n
        return found

    def checks(self, asset: dg.AssetKey) -> list[dg.AssetCheckResult]:
        """The results of the checks of ``check_specs``, for one asset."""
        bad = _bad(self._judged)
        quarantined = [row for row in bad if row.status == Status.QUARANTINED]
        overwritten = [row.key for row in quarantined if (row.reason or "").startswith(OVERWRITTEN)]
        counts = {"objects": len(quarantined), "rows": sum(row.bad_rows or 0 for row in bad)}
        # What left no state, such as an object that S3 refuses, is met again by each listing.
        if stateless := sum(row.etag is None for row in quarantined):
            counts[WITHOUT_STATE] = stateless
        if bad and not any(batch in self.landed for batch in self._judged):
            counts[SAID_BEFORE] = True
        changes = self._schema_changes()
        warn, error = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR
        return [
            dg.AssetCheckResult(
                asset_key=asset,
                check_name=WRITE_ONCE_CHECK,
                passed=not overwritten,
                metadata={"overwritten_keys": overwritten[:MOST_TOLD]},
            ),
            dg.AssetCheckResult(
                asset_key=asset,
                check_name=QUARANTINE_CHECK,
                passed=not bad,
                severity=error if self.only_bad else warn,
                metadata={**counts, "quarantine": _as_table(bad)} if bad else counts,
                description=f"nothing got in, see ledger.{self.now.name}" if self.only_bad else None,
            ),
            dg.AssetCheckResult(
                asset_key=asset,
                check_name=SCHEMA_CHECK,
                passed=not changes,
                severity=warn,
                metadata={"changes": changes},
            ),
            *self._after_load(asset),
        ]

    def events(
        self, asset: dg.AssetKey, partition: str | None = None
    ) -> list[dg.AssetMaterialization | dg.AssetCheckEvaluation]:
        """The same as events, for a run that logs them: no step of it materializes that asset.

        Args:
            asset: the table's own page, or bronze.
            partition: of bronze.
        """
        told = [as_event(result, partition) for result in self.checks(asset)]
        if not self.materializes:
            return [*told]
        metadata = self.metadata("dagster/partition_row_count" if partition else "dagster/row_count")
        return [dg.AssetMaterialization(asset, partition=partition, metadata=metadata), *told]

    def _after_load(self, asset: dg.AssetKey) -> list[dg.AssetCheckResult]:
        """Of a page alone: most partitions of bronze keep their files where they are."""
        waits = self.now.waits
        if waits is None or len(asset.path) == 1:
            return []
        told = [dg.TableRecord({"key": key, "reason": why}) for key, why in list(waits.reasons.items())[:MOST_TOLD]]
        return [
            dg.AssetCheckResult(
                asset_key=asset,
                check_name=AFTER_LOAD_CHECK,
                passed=not waits.files,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"files": waits.files, **({"waiting": dg.MetadataValue.table(told)} if told else {})},
            )
        ]

    @property
    def _judged(self) -> list[Batch]:
        # Each load is followed by what after-load took away: that is not to hide what the load could not take in.
        return [batch for batch in self.landed if not batch.only_moves] or ([self.last] if self.last else [])

    def _schema_changes(self) -> list[str]:
        state = self.now.state
        return column_changes(self.before.columns, column_schema(state.schema) if state else None)


def page_key(spec: TableSpec) -> dg.AssetKey:
    """Asset key of a configured table's own page."""
    return dg.AssetKey(["bronze", spec.name])


def check_specs(
    asset: dg.AssetKey, partitions: dg.PartitionsDefinition[str] | None = None, *, after_load: bool = False
) -> list[dg.AssetCheckSpec]:
    """The checks of a bronze asset; ``after_load`` says whether it has the one of that."""
    descriptions = {**_DESCRIPTIONS, **({AFTER_LOAD_CHECK: _AFTER_LOAD} if after_load else {})}
    with warnings.catch_warnings():
        # Checks by partition are a preview in Dagster 1.13. Without it, a good run of one table would hide the
        # failed check of another.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(name, asset=asset, partitions_def=partitions, description=description)
            for name, description in descriptions.items()
        ]


def _came_again(row: LedgerRow) -> int:
    """Rows of a row queue's object that the table had already: its name says how many messages it holds."""
    told = RowObject.of(row.key) if row.status == Status.COMMITTED else None
    return told.rows - (row.rows or 0) - (row.bad_rows or 0) if told else 0


def _bad(batches: Sequence[Batch]) -> list[LedgerRow]:
    """Ledger rows whose object, or some of whose rows, went into quarantine."""
    rows = (row for batch in batches for row in batch.rows)
    # One that was removed has them from its reading, which told of them.
    return [row for row in rows if row.status == Status.QUARANTINED or (row.bad_rows and row.status != Status.REMOVED)]


def _as_table(bad: Sequence[LedgerRow]) -> dg.MetadataValue[Any]:
    return dg.MetadataValue.table([dg.TableRecord({"key": row.key, "reason": _reason(row)}) for row in bad[:MOST_TOLD]])


def _reason(row: LedgerRow) -> str:
    reason = row.reason or "no reason was given"
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"
