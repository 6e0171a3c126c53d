"""A run of several partitions of bronze, as a backfill makes them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import dagster as dg

from tidegate.assets.bronze.report import TableReport
from tidegate.assets.bronze.shared_run import SharedRun, bring_up_to_date, failure_text, find_lost_server
from tidegate.assets.keys import LakeNames
from tidegate.assets.runs.held_tables import AT_WORK, FAILED_TAG, TURN_TAG, RunTables, is_range
from tidegate.assets.runs.tags import BACKFILL, TRIGGER_TAG
from tidegate.platform.lake.lake import Lake

#: Tables of one run of a backfill. The fixed costs of a run, some CPU seconds, are divided by them. More would save
#: little, and would leave places in the queue of runs empty.
MAX_TABLES = 25
#: Seconds between two notes of the turn in the run's tags, and between two attempts to begin a table of another run.
_NOTE_SECONDS, _ATTEMPT_SECONDS = 300.0, 5.0
#: Seconds after which a table that another run has for all this time is left. The partition is then shown as failed.
_WAIT_SECONDS = 3600.0


class TurnNotes:
    """Records in a run's tags which tables are up to date, and gives each table the time that its own run would have.

    So a table that is up to date does not wait for those that come after it. A run that hangs is ended as early as
    another run is. Nothing is written for a run of a few minutes. A person who gives the run Dagster's tag
    `dagster/max_runtime` decides how long it may last.

    Args:
        tables: table keys, in the order of the partitions.
        clock: seconds.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        run: dg.DagsterRun,
        tables: Sequence[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._instance, self._run_id, self._clock = instance, run.run_id, clock
        self._pending = dict.fromkeys(tables)
        self._begun = self._noted = clock()
        # A repetition of a run has copies of its tags.
        own_limit = dg.MAX_RUNTIME_SECONDS_TAG in run.tags and TURN_TAG not in run.tags
        self._limit = 0 if own_limit else instance.run_monitoring_max_runtime_seconds

    def finish(self, table: str) -> None:
        """Record that the run is finished with a table."""
        self._pending.pop(table, None)

    def note(self) -> None:
        """Write the tags, unless they were written a moment ago. Called before each table."""
        now = self._clock()
        if now - self._noted < _NOTE_SECONDS or not self._pending:
            return
        self._noted = now
        tags = {TURN_TAG: f"{self._run_id}/{next(iter(self._pending))}"}
        if self._limit:
            tags[dg.MAX_RUNTIME_SECONDS_TAG] = str(int(now - self._begun + self._limit + _NOTE_SECONDS))
        self._instance.add_run_tags(self._run_id, tags)


def run_backfill(
    context: dg.OpExecutionContext,
    names: LakeNames,
    lake: Lake,
    page: Callable[[str], dg.AssetKey | None],
    work: Callable[[str], TableReport],
) -> Iterator[Any]:
    """Bring the tables of a run's partitions up to date, one after another.

    Yields the events that a run of each partition would have. A table that another run is at work on comes last, when
    that run has ended.

    Args:
        context: the run's context.
        names: the lake of the tables.
        page: returns the table's own page, if it has one.
        work: brings one table up to date.

    Raises:
        dagster.Failure: a table failed, or was left out. Dagster shows its partition as failed.
    """
    tables, instance = list(context.partition_keys), context.instance
    # Without a trigger of the sensor each prefix is listed. By this tag such runs are found.
    instance.add_run_tags(context.run_id, {TRIGGER_TAG: BACKFILL})
    notes, last = TurnNotes(instance, context.run, tables), time.monotonic()

    def work_in_turn(table: str) -> TableReport:
        nonlocal last
        try:
            return work(table)
        finally:
            notes.finish(table)
            last = time.monotonic()

    def has_time() -> bool:
        notes.note()
        return True

    def wait() -> bool:
        notes.note()
        time.sleep(_ATTEMPT_SECONDS)
        return time.monotonic() - last < _WAIT_SECONDS

    held = partial(has_other_run, instance, names, context.run_id)
    shared = SharedRun(work_in_turn, held, partial(find_lost_server, lake), has_time, wait)
    yield from bring_up_to_date(context, names, page, shared, tables)
    failed = shared.reasons | shared.left
    if failed:
        instance.add_run_tags(context.run_id, {FAILED_TAG: json.dumps(list(failed))})
        verdict = failure_text(failed, len(tables), "materialize their partitions again")
        raise dg.Failure(verdict, allow_retries=False)


def has_other_run(instance: dg.DagsterInstance, names: LakeNames, run_id: str, table: str) -> bool:
    """Return whether another run is at work on a table, for which a run of a backfill waits.

    Of two runs of backfills, the one that began later waits, so that they do not wait for each other. No other run
    waits for a run of a backfill while it is at work.
    """
    at_work = instance.get_run_records(dg.RunsFilter(statuses=AT_WORK))
    records = {record.dagster_run.run_id: record for record in at_work}
    own, tables = records.pop(run_id, None), RunTables(instance)
    return any(
        names.holds(record.dagster_run)
        and (not is_range(record.dagster_run) or _began(record) < _began(own))
        and table in tables.find_held(record.dagster_run)
        for record in records.values()
    )


def _began(record: dg.RunRecord | None) -> tuple[float, int]:
    if record is None:
        return float("inf"), 0
    return float("inf") if record.start_time is None else record.start_time, record.storage_id
