"""A bronze table in its previous report, and after a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from tidegate.platform.bronze.run import BatchResult
from tidegate.platform.core.completion.waiting_datasets import WaitingDatasets
from tidegate.platform.core.inventory.late_buckets import LateInventory
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.results import TableState


@dataclass(frozen=True)
class PreviousReport:
    """Values of a table's last materialization. None where there is none, or where it lacks the value."""

    columns: dg.TableSchema | None = None
    rows: int | None = None
    version: int | None = None

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> PreviousReport:
        """Make it from the metadata of a materialization."""
        rows = metadata.get("dagster/partition_row_count", metadata.get("dagster/row_count"))
        return cls(metadata.get("dagster/column_schema"), rows, metadata.get("delta_version"))


@dataclass(frozen=True)
class PendingCleanup:
    """Loaded files that after-load could not remove or tag yet.

    Attributes:
        files: number of files.
        reasons: reasons of some of the files, by key.
    """

    files: int = 0
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableSnapshot:
    """The table after a run.

    Attributes:
        name: SQL name in the schemas `bronze` and `ledger`.
        uri: `s3://` address.
        state: state of the Delta table. None while nothing can be read from it.
        rows: number of rows. None while nothing can be read from the table.
        waits: files that wait for after-load. None if lake.yaml has no `after_load` for the table.
        columns: columns of an output's files. None for a table, and for objects of lines.
        datasets: what waits for completion signals. None if lake.yaml has no `completion` for the table.
        late: buckets whose newest inventory is too old. None if it is not a table of inventories.
        descriptions: of columns, by names in lower case.
    """

    name: str
    uri: str = ""
    state: TableState | None = None
    rows: int | None = None
    waits: PendingCleanup | None = None
    datasets: WaitingDatasets | None = None
    columns: TableSchema | None = None
    late: Sequence[LateInventory] | None = None
    descriptions: Mapping[str, str] = field(default_factory=dict)


def row_count(before: PreviousReport, done: Sequence[BatchResult], version: int, count: Callable[[], int]) -> int:
    """Return the number of rows of a table.

    The previous number plus the rows of the run's batches is the number, if theirs are the only commits since then and
    remove no files. Otherwise the rows of the table are counted. A batch may have committed nothing, or long ago.

    Args:
        done: the batches of the run.
        version: present version of the table.
        count: counts the rows of the table.
    """
    rows, since = before.rows, before.version
    if done and done[0].batch.n == 1:
        rows, since = 0, -1
    if rows is None or since is None:
        return count()
    own = [result for result in done if result.landed.version > since]
    landed = [result.batch for result in own if result.landed.outcome == "committed"]
    if since + len(own) != version or any(batch.removes for batch in landed):
        return count()
    return rows + sum(add.records for batch in landed for add in batch.adds)
