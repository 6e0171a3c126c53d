"""Rebuild of a silver table: it becomes what bronze gives by the present `lake.yaml`, in one commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.assets.operations.rebuild import RebuildRefused
from tidegate.assets.silver.merge import MergeResult
from tidegate.assets.silver.merge import rebuild_table as rebuild_from_bronze
from tidegate.assets.silver.pending import merge_state
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.failpoints import seam
from tidegate.resources.lake import WITH_TOMBSTONES, Lake

_SCHEMA = "silver."


@dataclass(frozen=True)
class SilverRebuildPlan:
    """The plan of a rebuild.

    Attributes:
        spec: the table.
        n: last batch of bronze that silver will hold.
        files: number of files of bronze that are read.
        old_files: number of files of silver that are replaced.
    """

    spec: TableSpec
    n: int
    files: int
    old_files: int

    @property
    def lines(self) -> list[str]:
        """What happens, one line each."""
        return [
            f"silver.{self.spec.name} is computed again from bronze by today's lake.yaml:",
            f"  bronze   {self.files} files are read, up to batch {self.n}",
            f"  silver   {self.old_files} files are replaced in one commit, and readers see the old rows until then. "
            "Rows that bronze does not give leave the table",
        ]


def is_silver(name: str) -> bool:
    """Whether the name of a table is that of a silver table."""
    return name.startswith(_SCHEMA)


def plan_silver_rebuild(lake: Lake, name: str) -> SilverRebuildPlan:
    """Plan the rebuild of a silver table. Nothing is changed.

    Args:
        lake: the lake.
        name: `silver.<name>`.

    Raises:
        RebuildRefused: there is no such table, or bronze has no rows yet.
    """
    wanted = name.removeprefix(_SCHEMA).removesuffix(WITH_TOMBSTONES)
    merged = [spec for spec in lake.config.tables if spec.silver]
    spec = next((spec for spec in merged if spec.name == wanted), None)
    if spec is None:
        known = ", ".join(f"silver.{each.name}" for each in merged) or "none"
        raise RebuildRefused(f"there is no silver table {name!r}: lake.yaml has {known}")
    work = merge_state(lake, spec)
    if work is None or not work.bronze.has_columns:
        raise RebuildRefused(f"bronze.{wanted} has no rows yet, so there is nothing to rebuild silver.{wanted} from")
    return SilverRebuildPlan(spec, work.n, work.bronze.files, work.silver.files)


def rebuild_silver(lake: Lake, name: str, *, by: str, log: Callable[[str], None] = lambda _: None) -> MergeResult:
    """Rebuild a silver table. A rebuild that dies is repeated, and changes nothing before its commit.

    Args:
        lake: the lake.
        name: `silver.<name>`.
        by: the user or run that requests it.
        log: called with each line of progress.

    Raises:
        RebuildRefused: see `plan_silver_rebuild`.
        ValueError: bronze does not fit the rules of `silver` in `lake.yaml`.
    """
    plan = plan_silver_rebuild(lake, name)
    address = lake.store.operations.put(
        "rebuild", by, table=plan.spec.table_key.encode(), silver=plan.spec.name, up_to_batch=plan.n
    )
    seam("rebuild-log")
    log(f"logged as {address}")
    return rebuild_from_bronze(lake, plan.spec, log)
