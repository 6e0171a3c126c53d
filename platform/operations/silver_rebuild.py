"""Rebuild of a silver table: it becomes what bronze gives by the present `lake.yaml`, in one commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.platform.core.config.silver_columns import WITH_TOMBSTONES
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.seams import seam
from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.merge import MergeResult
from tidegate.platform.silver.merge import rebuild_table as rebuild_from_bronze
from tidegate.platform.silver.pending_merge import merge_state

_SCHEMA = "silver."


@dataclass(frozen=True)
class SilverRebuildPlan:
    """The plan of a rebuild.

    Attributes:
        n: last batch of bronze that silver will hold.
        files: number of files of bronze that are read.
        old_files: number of files of silver that are replaced.
        since: only keys with a row of this batch or later are computed again. None: all keys.
    """

    spec: TableSpec
    n: int
    files: int
    old_files: int
    since: int | None = None

    @property
    def lines(self) -> list[str]:
        """What happens, one line each."""
        if self.since is not None:
            return [
                f"keys of silver.{self.spec.name} with a row of batch {self.since} or later are computed again from "
                "all their rows in bronze, by today's lake.yaml:",
                f"  bronze   {self.files} files are read, up to batch {self.n}",
                f"  silver   of {self.old_files} files, those with such a key are replaced in one commit, and readers "
                f"see the old rows until then. Rows of batch {self.since} or later that bronze does not give leave the "
                "table. Rows of other keys stay",
            ]
        return [
            f"silver.{self.spec.name} is computed again from bronze by today's lake.yaml:",
            f"  bronze   {self.files} files are read, up to batch {self.n}",
            f"  silver   {self.old_files} files are replaced in one commit, and readers see the old rows until then. "
            "Rows that bronze does not give leave the table",
        ]


def is_silver(name: str) -> bool:
    """Return whether the name of a table is that of a silver table."""
    return name.startswith(_SCHEMA)


def only_silver_since(name: str) -> str:
    """Return the error for a rebuild of a bronze table from a batch."""
    return f"{name} is not a silver table, and only silver is rebuilt from a batch. Rebuild {name} as a whole"


def plan_silver_rebuild(lake: Lake, name: str, since: int | None = None) -> SilverRebuildPlan:
    """Plan the rebuild of a silver table. Nothing is changed.

    Args:
        name: `silver.<name>`.
        since: only keys with a row of this batch or later are computed again. None: all keys.

    Raises:
        DataError: there is no such table, bronze has no rows yet, or it has no batch `since`.
    """
    wanted = name.removeprefix(_SCHEMA).removesuffix(WITH_TOMBSTONES)
    merged = [spec for spec in lake.config.tables if spec.silver]
    spec = next((spec for spec in merged if spec.name == wanted), None)
    if spec is None:
        known = ", ".join(f"silver.{each.name}" for each in merged) or "none"
        raise DataError(f"there is no silver table {name!r}: lake.yaml has {known}")
    work = merge_state(lake, spec)
    if work is None or not work.bronze.has_columns:
        raise DataError(f"bronze.{wanted} has no rows yet, so there is nothing to rebuild silver.{wanted} from")
    if since is not None and not 1 <= since <= work.n:
        raise DataError(f"bronze.{wanted} has no batch {since}: rebuild from one of its batches 1 to {work.n}")
    return SilverRebuildPlan(spec, work.n, work.bronze.files, work.silver.files, since)


def rebuild_silver(
    lake: Lake, name: str, *, by: str, log: Callable[[str], None] = lambda _: None, since: int | None = None
) -> MergeResult:
    """Rebuild a silver table. A rebuild that dies is repeated, and changes nothing before its commit.

    Args:
        name: `silver.<name>`.
        by: the user or run that requests it.
        log: called with each line of progress.
        since: only keys with a row of this batch or later are computed again. None: all keys.

    Raises:
        DataError: see `plan_silver_rebuild`.
        ValueError: bronze does not fit the rules of `silver` in `lake.yaml`.
    """
    plan = plan_silver_rebuild(lake, name, since)
    address = lake.store.operations.put(
        "rebuild",
        by,
        table=plan.spec.table_key.encode(),
        silver=plan.spec.name,
        from_batch=since or 1,
        up_to_batch=plan.n,
    )
    seam("rebuild-log")
    log(f"logged as {address}")
    return rebuild_from_bronze(lake, plan.spec, log, since=since)
