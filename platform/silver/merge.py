"""Silver merges: rows of bronze, reduced to the newest row of each key and merged in one commit with their mark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from tidegate.platform.catalog import sync_table
from tidegate.platform.core.bronze.volume import sum_volumes
from tidegate.platform.core.config.csv_options import CsvOptions
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import taken_names
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import BadValue, TidegateError, UnavailableError
from tidegate.platform.core.schema.column_types import fold_name
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.seams import seam
from tidegate.platform.core.silver.expectations import Expectation
from tidegate.platform.core.silver.lineage import column_sources
from tidegate.platform.core.silver.rules import MergeRules
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.commit_retry import repeat_call
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.results import Merging, TableState
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.maintenance.compaction import compact_after_commit, is_due
from tidegate.platform.silver.changes import Changes, gather_changes, waiting_batch_replaces_rows
from tidegate.platform.silver.dumps.incomplete_dumps import with_incomplete_dumps
from tidegate.platform.silver.expect.collapsed_rows import (
    Collapse,
    inferred_text_order,
    misread_names,
    suspicious_joins,
)
from tidegate.platform.silver.expect.failing_expressions import name_failing_expression
from tidegate.platform.silver.expect.violations import count_violations
from tidegate.platform.silver.history_merge import build_history_merge
from tidegate.platform.silver.merge_sql import build_merge, mode_of
from tidegate.platform.silver.pending_merge import Aim, PendingMerge, merge_state, pending_merge
from tidegate.platform.silver.row_queries import RowCounts, expression_types, has_copies, row_counts
from tidegate.platform.silver.server_losses import record_server_loss
from tidegate.platform.silver.suppressed_rows import same_list, wanted_changes
from tidegate.platform.silver.table import (
    create_table,
    follow_lake_yaml,
    is_remade,
    purge_tombstones,
    record_first_reading,
    record_remade,
    record_subject,
    renew_subject_record,
    silver_rules,
    widen_table,
)
from tidegate.platform.silver.truncate import record_truncate, record_truncates

#: The seams of a merge, in order. Each is right after the step that it is named for.
SEAMS = ("silver-create", "silver-gather", "silver-truncate", "silver-merge")

#: How often a rebuild from a batch merges what waits. Bronze may record batches during each of these merges.
MAX_CATCH_UPS = 5

#: Incomplete dumps that a run names.
_MAX_NAMED_DUMPS = 10

_Result = TypeVar("_Result")
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True)
class MergeResult:
    """What a merge did.

    Attributes:
        version: Delta version of the silver table afterwards.
        n: the mark: last batch that silver holds now.
        batches: number of merged batches.
        volume: files, rows and bytes of the batches, as metadata.
        why_full: why the whole bronze table was merged. None if only some batches were.
        inserted: rows that silver did not have.
        updated: rows that replaced a row of silver.
        deleted: rows that left silver.
        late: rows that came after a newer row of their key. None if they were not counted, as in a first merge.
        tied: rows whose order another row of their key has. None if they were not counted.
        ahead_seconds: how far the newest time in `order` is ahead of the clock. None if that is not known.
        unordered: rows of the batches with a NULL in `order`. They are older than every other row of their key.
        skipped: rows of the batches that are not changes.
        sources: columns of bronze that each column of silver comes from.
        violations: rows of the batches that violate an expectation, by its name.
        incomplete_dumps: full dumps of the batches that deleted nothing, as sentences with the reason and the remedy.
        expectations: the expectations as they were counted, with what a preset adds.
        collapse: what gives wrong rows while the merge succeeds.
        shown: rows that the view of silver shows afterwards.
        table: a state of the silver table with the columns and features that it has afterwards. None if the merge
            created the table, or added columns.
        generation: the generation of bronze that was merged.
    """

    version: int
    n: int
    batches: int
    volume: dict[str, int | float]
    why_full: str | None
    inserted: int
    updated: int
    deleted: int
    late: int | None = None
    tied: int | None = None
    ahead_seconds: float | None = None
    unordered: int = 0
    skipped: int = 0
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    violations: Mapping[str, int] = field(default_factory=dict)
    incomplete_dumps: tuple[str, ...] = ()
    expectations: Sequence[Expectation] = ()
    collapse: Collapse = field(default_factory=Collapse)
    shown: int = 0
    table: TableState | None = None
    generation: str = ""


def merge_table(lake: Lake, spec: TableSpec, log: Callable[[str], None] = lambda _: None) -> MergeResult | None:
    """Merge everything that is pending into a silver table. Returns None if nothing is pending.

    A large backlog takes several merges, each with its own mark, so a later failure does not undo the earlier merges. A
    merge that loses to another commit (another merge, OPTIMIZE, …) starts again from the present state of both tables.

    Raises:
        PySparkException: a merge lost `MAX_ATTEMPTS` times, or failed for another reason.
    """
    goal: int | None = None
    done: list[MergeResult] = []
    if other := lake.delta.other_log_store(lake.config.lake.commits):
        log(f"WARNING: {other}")

    def step() -> MergeResult | None:
        nonlocal goal
        work = pending_merge(lake, spec)
        if work is None or (goal is not None and (work.mark or 0) >= goal):
            return None
        # Batches that bronze commits meanwhile are left to the next run, or this run might never end.
        goal = goal or work.n
        with record_server_loss(lake.config, lake.delta, lake.store.losses, spec.name):
            return _merge(lake, work, log)

    with name_failing_expression(spec):
        while (not done or done[-1].n < (goal or 0)) and (merged := _retry_step(step, log)):
            done.append(merged)
    return _join_results(done) if done else None


def rebuild_table(
    lake: Lake, spec: TableSpec, log: Callable[[str], None] = lambda _: None, *, since: int | None = None
) -> MergeResult:
    """Make a silver table what bronze gives now, in one commit. Its readers see the old rows until then.

    Rows that bronze does not give leave the table. A rebuild that dies before its commit has changed nothing.

    Args:
        log: called with each line of progress.
        since: only keys with a row of this batch or later, in bronze or in silver, are computed again. Batches that
            wait are merged before, in commits of their own. If bronze records batches during each of `MAX_CATCH_UPS`
            merges, the last of them are left to the next merge, except one that replaced rows. None: all keys, with the
            batches that wait.

    Raises:
        UnavailableError: bronze was reset meanwhile, or its rows were replaced during each of many merges.
        ValueError: the table has no `silver` in `lake.yaml`, or bronze has no rows yet.
        PySparkException: the merge lost `MAX_ATTEMPTS` times, or failed for another reason.
    """

    def step() -> MergeResult:
        work = merge_state(lake, spec) if since is None else _merge_waiting(lake, spec, log)
        if work is None or not work.bronze.has_columns:
            raise BadValue(
                f"bronze.{spec.name} has no rows yet, so there is nothing to rebuild silver.{spec.name} from"
            )
        app_id = work.app_id
        if work.mark is not None and work.mark >= work.n:
            # The txn of the mark is there already, and would make this merge one that has happened.
            app_id = f"{app_id}:rebuild:{work.silver.version}"
        with record_server_loss(lake.config, lake.delta, lake.store.losses, spec.name):
            aim = Aim.REBUILD if since is None else Aim.REBUILD_SINCE
            return _merge(lake, replace(work, aim=aim, since=since, app_id=app_id), log)

    with name_failing_expression(spec):
        return _retry_step(step, log)


def _merge_waiting(lake: Lake, spec: TableSpec, log: Callable[[str], None]) -> PendingMerge | None:
    """Merge what waits. Returns the state up to the mark, or None if bronze has no table yet.

    If a batch above the mark replaced rows in bronze, their keys lack these rows below the mark. A merge of chosen keys
    would delete them from silver, and only the next merge would bring them back. So such a batch is always merged.
    """
    for attempt in range(1, 2 * MAX_CATCH_UPS + 1):
        merge_table(lake, spec, log)
        work = merge_state(lake, spec)
        if work is None or work.mark == work.n:
            return work
        if work.mark is None:
            raise UnavailableError(
                f"bronze.{spec.name} was reset while silver.{spec.name} was rebuilt: rebuild it again"
            )
        if attempt >= MAX_CATCH_UPS and not waiting_batch_replaces_rows(work):
            log(f"bronze.{spec.name} records batches faster than they are merged: {work.mark + 1}..{work.n} are left")
            return replace(work, ledger=replace(work.ledger, n=work.mark))
    raise UnavailableError(
        f"rows of bronze.{spec.name} were replaced during each of {2 * MAX_CATCH_UPS} merges: rebuild "
        f"silver.{spec.name} when the redrive or the rebuild of bronze is over"
    )


def _retry_step(step: Callable[[], _Result], log: Callable[[str], None]) -> _Result:
    return repeat_call(step, lambda error: log(f"another commit came first, merging again: {first_line(error)}"))


def _join_results(steps: Sequence[MergeResult]) -> MergeResult:
    """Return the result of consecutive merges as that of one merge."""
    return replace(
        steps[-1],
        batches=sum(step.batches for step in steps),
        volume=sum_volumes([step.volume for step in steps]),
        why_full=next((step.why_full for step in steps if step.why_full), None),
        inserted=sum(step.inserted for step in steps),
        updated=sum(step.updated for step in steps),
        deleted=sum(step.deleted for step in steps),
        late=_combine_known(sum, [step.late for step in steps]),
        tied=_combine_known(sum, [step.tied for step in steps]),
        ahead_seconds=_combine_known(max, [step.ahead_seconds for step in steps]),
        unordered=sum(step.unordered for step in steps),
        skipped=sum(step.skipped for step in steps),
        collapse=Collapse.from_steps([step.collapse for step in steps]),
        violations={
            name: sum(step.violations.get(name, 0) for step in steps) for step in steps for name in step.violations
        },
        incomplete_dumps=tuple(dict.fromkeys(text for step in steps for text in step.incomplete_dumps)),
    )


def _combine_known(
    together: Callable[[Sequence[_Number]], _Number], numbers: Sequence[_Number | None]
) -> _Number | None:
    known = [number for number in numbers if number is not None]
    return together(known) if known else None


def _prepare_table(lake: Lake, work: PendingMerge, rules: MergeRules, log: Callable[[str], None]) -> bool:
    """Create the silver table, or let it follow bronze and `lake.yaml`. Returns whether it got columns or types."""
    widened = work.silver.exists and widen_table(lake.delta, work.location, work.silver, rules)
    if work.silver.exists:
        follow_lake_yaml(lake.delta, work, rules, log)
    else:
        create_table(lake.delta, lake.id, work, rules)
    if work.mark is None:
        record_first_reading(lake.delta, work.location, work.n, work.app_id)
    record_subject(lake.delta, work)
    # Without a mark, an earlier merge may have died between the creation of the table and its SQL names.
    if widened or work.mark is None:
        _name(lake, work.table.table_key, log)
    return widened


def _merge(lake: Lake, work: PendingMerge, log: Callable[[str], None]) -> MergeResult:
    rules = silver_rules(work, partial(expression_types, lake.delta.session, work.bronze_location))
    widened = _prepare_table(lake, work, rules, log)
    have = lake.delta.table_state(work.location).schema if widened else work.silver.schema
    seam("silver-create")
    with _changes(lake, work, rules) as changes:
        seam("silver-gather")
        after = 0 if work.aim.is_rebuild else work.mark or 0
        log(f"merging batches {after + 1}..{changes.n}" + (f" of {work.n}" if changes.n < work.n else ""))
        if changes.why_full:
            log(f"full merge: {changes.why_full}")
        incomplete = _incomplete_dumps(work.table.spec, after, changes)
        for text in incomplete:
            log(f"WARNING: {text}")
        purge_tombstones(lake.delta, work.spec, work.location, work.mark, changes.n)
        violations = count_violations(lake.delta.session, work.table.spec, changes, rules)
        counts = row_counts(lake.delta.session, changes, rules, work.bronze.schema, _csv(work.table.spec))
        merging = replace(
            _build_merging(lake.delta, work, changes, rules, have, counts),
            provided=same_list(work.silver, work.table.spec),
        )
        merged = lake.delta.merge(work.location, merging, changes.view, work.app_id, changes.n)
    seam("silver-merge")
    if (merged.txn or 0) < changes.n:
        raise UnavailableError(
            f"the merge of silver.{work.table.spec.name} returned, but its table has the mark {merged.txn}, not "
            f"{changes.n}; the next run merges these batches again"
        )
    if work.aim is Aim.REBUILD:
        renew_subject_record(lake.delta, work, merged.version)
    if is_remade(work.spec, work.silver, work.aim, work.table.spec, rules):
        record_remade(lake.delta, work.spec, work.location, rules)
    merges, is_new = is_due(work.mark or 0, changes.n), not work.silver.exists
    name, cluster_by = f"silver.{work.table.spec.name}", work.spec.cluster_by
    compact_after_commit(lake.delta, work.location, name, cluster_by, log, merges=merges, is_new=is_new)
    if widened or is_new:
        sync_table(lake, work.table.table_key, log)
    return MergeResult(
        merged.version,
        changes.n,
        changes.batches,
        changes.volume,
        changes.why_full,
        merged.inserted,
        merged.updated,
        merged.deleted,
        merged.late,
        merged.tied,
        None if counts.newest is None else max(0.0, counts.newest - time.time()),
        counts.unordered,
        counts.skipped - violations.dropped,
        column_sources(rules, [column.name for column in work.bronze.schema.fields]),
        violations.counts,
        incomplete,
        rules.expectations,
        _collapse(work.spec, work.silver, work.table.spec, rules, counts),
        merged.shown,
        work.silver if work.silver.exists and not widened else None,
        work.table.birth.generation if work.table.birth else "",
    )


def _csv(spec: TableSpec) -> CsvOptions | None:
    return spec.csv if spec.format in ("csv", None) else None


def _collapse(
    silver_spec: SilverSpec, state: TableState, spec: TableSpec, rules: MergeRules, counts: RowCounts
) -> Collapse:
    own = taken_names(silver_spec)
    before, now = (
        [field for field in fields if fold_name(field.name) not in own]
        for fields in (state.schema.fields, rules.columns)
    )
    return Collapse(
        counts.null_keys,
        counts.reinserted,
        inferred_text_order(spec, rules),
        counts.misread,
        misread_names(now),
        suspicious_joins(before, now),
        rules.awaited,
        rules.left_out,
    )


@contextmanager
def _changes(lake: Lake, work: PendingMerge, rules: MergeRules) -> Iterator[Changes]:
    """Yield the rows to merge, and what is known in addition to them."""
    with (
        gather_changes(lake.delta, work) as everything,
        with_incomplete_dumps(lake.delta, work, rules, everything) as known,
        wanted_changes(lake, work, rules, known) as changes,
    ):
        yield changes


def _incomplete_dumps(spec: TableSpec, after: int, changes: Changes) -> tuple[str, ...]:
    """Return a sentence for each dump that deletes nothing since one of the merged batches."""
    dumps = sorted((dump for dump in changes.dumps.incomplete if dump.n > after), key=lambda dump: -dump.n)
    is_discreet = spec.personal is not None
    return tuple(dump.sentence(spec.name, is_discreet=is_discreet) for dump in dumps[:_MAX_NAMED_DUMPS])


def _build_merging(
    delta: Delta, work: PendingMerge, changes: Changes, rules: MergeRules, have: TableSchema, counts: RowCounts
) -> Merging:
    mode = mode_of(work.spec, work.silver, work.mark, work.aim, changes)
    copies = work.aim is Aim.REBUILD and work.silver.files > 0 and has_copies(delta.session, work.location, rules)
    if rules.history is not None:
        truncates = record_truncates(delta, work, mode, counts.truncates) if rules.truncated else ()
        seam("silver-truncate")
        is_truncated = bool(counts.truncates)
        return build_history_merge(
            work, changes, rules, have, truncates=truncates, is_truncated=is_truncated, has_copies=copies
        )
    truncate = record_truncate(delta, work, rules, mode, counts.truncate)
    seam("silver-truncate")
    is_partial = counts.partial > 0
    return build_merge(work, changes, rules, have, is_partial=is_partial, truncate=truncate, has_copies=copies)


def _name(lake: Lake, table_key: str, log: Callable[[str], None]) -> None:
    """Give silver its SQL names. A merge does not fail if the names cannot be given."""
    try:
        SqlNames(lake).name_table(table_key)
    except TidegateError as error:
        log(f"WARNING: {error}")
