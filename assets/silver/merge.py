"""One silver merge: a change set of bronze, reduced to one row per key, merged in one commit with its mark."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException

from tidegate.assets.maintenance.compaction import compact, is_due
from tidegate.assets.presentation.volume import total
from tidegate.assets.silver.changes import gather
from tidegate.assets.silver.merge_sql import build_merge
from tidegate.assets.silver.pending import Pending, pending
from tidegate.assets.silver.table import create_table, purge_tombstones, silver_columns, widen_table
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.failpoints import seam
from tidegate.platform.core.first_line import first_line
from tidegate.resources.lake import Lake

#: The seams of a merge, in order; each lies right after the step that it is named for.
SEAMS = ("silver-create", "silver-gather", "silver-merge")

_ATTEMPTS = 6
#: How the conditions begin of a commit that another one came before: Delta's and ours.
_OVERTAKEN = ("DELTA_CONCURRENT", "TIDEGATE_BUSY")


@dataclass(frozen=True)
class Merged:
    """What a merge did.

    Attributes:
        version: Delta version of the silver table afterwards.
        n: the mark: last batch that silver holds now.
        batches: how many were merged.
        volume: what they brought, as metadata.
        why_full: why the whole bronze table was merged; None if it was not.
    """

    version: int
    n: int
    batches: int
    volume: dict[str, int | float]
    why_full: str | None
    inserted: int
    updated: int
    deleted: int


def merge_table(lake: Lake, spec: TableSpec, log: Callable[[str], None] = lambda _: None) -> Merged | None:
    """Bring a silver table up to its ledger's last batch; None if it is there already.

    Where much waits it takes several merges, each with its own mark: what is merged stays so if a later merge fails. A
    merge that loses against another commit (another merge, OPTIMIZE, …) starts again from a fresh look.

    Raises:
        PySparkException: a merge lost ``_ATTEMPTS`` times, or failed otherwise.
    """
    goal: int | None = None
    done: list[Merged] = []
    attempt = 0
    while True:
        work = pending(lake, spec)
        if work is None or (goal is not None and (work.mark or 0) >= goal):
            return _together(done) if done else None
        # What bronze takes in meanwhile is the next run's.
        goal = goal or work.n
        try:
            done.append(_merge(lake, work, log))
            attempt = 0
        except PySparkException as error:
            attempt += 1
            if not (error.getCondition() or "").startswith(_OVERTAKEN) or attempt == _ATTEMPTS:
                raise
            log(f"another commit came first, looking again: {first_line(error)}")
            time.sleep(0.1 * 2**attempt)


def _together(steps: Sequence[Merged]) -> Merged:
    """What several merges did, one behind the other."""
    return replace(
        steps[-1],
        batches=sum(one.batches for one in steps),
        volume=total([one.volume for one in steps]),
        why_full=next((one.why_full for one in steps if one.why_full), None),
        inserted=sum(one.inserted for one in steps),
        updated=sum(one.updated for one in steps),
        deleted=sum(one.deleted for one in steps),
    )


def _merge(lake: Lake, work: Pending, log: Callable[[str], None]) -> Merged:
    columns = silver_columns(work)
    widened = work.silver.exists and widen_table(lake, work, columns)
    if not work.silver.exists:
        create_table(lake, work, columns)
    have = lake.delta.table_state(work.location).schema if widened else work.silver.schema
    # Also where an earlier merge died before its mark: perhaps before it gave the names.
    if widened or work.mark is None:
        _name(lake, work, log)
    seam("silver-create")
    changes = gather(lake.delta, work)
    seam("silver-gather")
    log(f"merging batches {(work.mark or 0) + 1}..{changes.n}" + (f" of {work.n}" if changes.n < work.n else ""))
    if changes.why_full:
        log(f"full merge: {changes.why_full}")
    purge_tombstones(lake, work, changes.n)
    merging = build_merge(work, changes, columns, have)
    merged = lake.delta.merge(work.location, merging, changes.view, work.app_id, changes.n)
    seam("silver-merge")
    if (merged.txn or 0) < changes.n:
        raise RuntimeError(
            f"the merge of silver.{work.table.spec.name} returned, but its table says batch {merged.txn}, not "
            f"{changes.n}; it will be merged again"
        )
    if is_due(work.mark or 0, changes.n):
        compact(lake.delta, work.location, f"silver.{work.table.spec.name}", log)
    return Merged(
        merged.version,
        changes.n,
        changes.batches,
        changes.volume,
        changes.why_full,
        merged.inserted,
        merged.updated,
        merged.deleted,
    )


def _name(lake: Lake, work: Pending, log: Callable[[str], None]) -> None:
    """Give silver its SQL names; a merge is never kept waiting for them."""
    try:
        lake.name_table(work.table.text)
    except RuntimeError as error:
        log(f"WARNING: {error}")
