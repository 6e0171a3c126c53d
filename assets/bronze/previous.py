"""A bronze table as Dagster showed it last, and as it is after a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from tidegate.assets.bronze.run import BatchResult
from tidegate.resources.spark.results import TableState


@dataclass(frozen=True)
class PreviousReport:
    """What the last materialization showed of a table; None where there is none, or it showed nothing of it."""

    columns: dg.TableSchema | None = None
    rows: int | None = None
    version: int | None = None

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> PreviousReport:
        """From the values of a materialization's metadata."""
        rows = metadata.get("dagster/partition_row_count", metadata.get("dagster/row_count"))
        return cls(metadata.get("dagster/column_schema"), rows, metadata.get("delta_version"))


@dataclass(frozen=True)
class PendingCleanup:
    """Files that are loaded, and that after-load could not take away or tag.

    Attributes:
        files: how many.
        reasons: of some of them, by key.
    """

    files: int = 0
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableSnapshot:
    """The table as it is after the run.

    Attributes:
        name: SQL name in the schemas ``bronze`` and ``ledger``.
        uri: ``s3://`` address.
        state: None as long as nothing can be read from it.
        rows: None likewise.
        waits: for after-load; None where lake.yaml asks for none.
    """

    name: str
    uri: str = ""
    state: TableState | None = None
    rows: int | None = None
    waits: PendingCleanup | None = None


def row_count(before: PreviousReport, done: Sequence[BatchResult], version: int, count: Callable[[], int]) -> int:
    """Rows of a table.

    What was shown last and what the batches since then brought tell it without a look at the table, unless somebody
    else has committed too, or files were removed.

    Args:
        before: what was shown last.
        done: the batches of the run.
        version: of the table now.
        count: asks the table.
    """
    rows, since = before.rows, before.version
    if done and done[0].batch.n == 1:
        rows, since = 0, -1
    landed = [one.batch for one in done if one.landed.outcome == "committed"]
    if rows is None or since is None or since + len(done) != version or any(batch.removes for batch in landed):
        return count()
    return rows + sum(add.records for batch in landed for add in batch.adds)
