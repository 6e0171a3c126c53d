"""Decides which of the waiting tables are due for a bronze run, and which of them share a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidegate.platform.core.bronze.plan import BATCH_BYTES
from tidegate.platform.core.bronze.window import shortest_wait
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.lake_root.inbox import Backlog

#: Bronze runs of the sensor that may be queued or active at a time. Queueing more would not finish sooner, and each run
#: request costs the Dagster daemon as much as a small run.
MAX_RUNS = 100
#: Of these, runs that one of several Spark servers may have. So tables of one that hangs leave room for the others.
MAX_SERVER_RUNS = 25

#: Up to this many hints a table shares a run, whatever its files are. A run of its own would cost some CPU-seconds, and
#: its work only fractions of a second.
COLD_HINTS = 10
#: So does a table with up to this many hints of small files: that is a second of work.
COLD_SMALL_HINTS, COLD_BYTES = 100, 16 << 20
#: Tables of one shared run. With more, each table would save little and the last one would wait long.
MAX_SHARED_TABLES = 50


def _same_server(table: str) -> str:
    """Return nothing: all tables have the same server."""
    return ""


@dataclass
class DueTables:
    """The result of a tour of the inbox.

    Attributes:
        due: the backlogs of the due tables, in the tour's order.
        seen: the keys of tables with waiting hints.
        hints: how many hints wait for these tables, at least.
        strays: a sentence for each object that is not a manifest.
        last: the folder that was read last. The next tour begins after it.
        whole: whether the tour read all folders.
    """

    due: list[Backlog] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    hints: int = 0
    strays: list[str] = field(default_factory=list)
    last: str = ""
    whole: bool = False


def is_ready(backlog: Backlog, config: LakeConfig, now: float) -> bool:
    """Return whether a table's window ends at this tick, or its hints or bytes fill a batch.

    Args:
        backlog: the backlog of the table.
        now: epoch seconds.
    """
    settings = config.settings(TableKey.decode(backlog.folder))
    full = backlog.hints >= settings.max_files or backlog.size >= BATCH_BYTES
    return full or now - backlog.since >= shortest_wait(settings.window, config.intake.every)


def find_due_tables(
    tour: Iterable[Backlog],
    config: LakeConfig,
    now: float,
    *,
    held: Collection[str],
    max_runs: int,
    after: str,
    alone: Collection[str] = (),
    server_of: Callable[[str], str] = _same_server,
    server_runs: Mapping[str, int] = {},
    has_time: Callable[[], bool] = lambda: True,
) -> DueTables:
    """Return tour the inbox until the due tables need as many runs as may be requested, or time is up. Pure.

    The next tour begins where this one ended, so each ready table gets a run before any table gets a second one, no
    matter how much waits for that. A tour that may not request any run ends where it began.

    Args:
        tour: the backlogs, table by table.
        now: epoch seconds.
        held: tables that have a run, or whose backoff after a failed run is not over.
        max_runs: how many runs the due tables may need.
        after: the folder after which the tour begins.
        alone: tables that failed recently, each of which gets a run of its own.
        server_of: as for `assign_runs`.
        server_runs: queued and active runs by Spark server, if there are several. Tables of one that has
            `MAX_SERVER_RUNS` are not due.
        has_time: called after each table. Returns whether there is time for another.
    """
    due_tables = DueTables(last=after)
    runs = RunCount(alone, server_of, server_runs)
    for backlog in tour:
        awake = backlog.folder not in held and backlog.rests <= now
        due = backlog.hints > 0 and awake and is_ready(backlog, config, now) and runs.server_has_room(backlog)
        if max_runs <= 0 or (due and not runs.add(backlog, max_runs)):
            return due_tables
        due_tables.last = backlog.folder
        due_tables.strays += backlog.strays
        if backlog.hints:
            due_tables.seen.append(backlog.folder)
            due_tables.hints += backlog.hints
        if due:
            due_tables.due.append(backlog)
        if not has_time():
            return due_tables
    due_tables.whole = True
    return due_tables


@dataclass(frozen=True)
class RunAssignment:
    """The runs to request.

    Attributes:
        own: the keys of tables that get a run each.
        shared: for each shared run, the keys of its tables.
    """

    own: list[str] = field(default_factory=list)
    shared: list[list[str]] = field(default_factory=list)


class RunCount:
    """Counts the runs that due tables need, while a tour finds them.

    Args:
        alone: tables that failed recently, as for `assign_runs`.
        server_of: as for `assign_runs`.
        server_runs: as for `find_due_tables`.
    """

    def __init__(
        self,
        alone: Collection[str] = (),
        server_of: Callable[[str], str] = _same_server,
        server_runs: Mapping[str, int] = {},
    ) -> None:
        self._alone, self._server_of, self._server_runs = alone, server_of, server_runs
        self._own, self._cold = Counter[str](), Counter[str]()

    def server_has_room(self, backlog: Backlog) -> bool:
        """Return whether the Spark server of a table may have one more run."""
        server = self._server_of(backlog.folder)
        requested = self._own[server] + _shared_runs(self._cold[server])
        return not server or self._server_runs.get(server, 0) + requested < MAX_SERVER_RUNS

    def add(self, backlog: Backlog, max_runs: int) -> bool:
        """Count a due table, unless it needs a run more than `max_runs`. Returns whether it was counted."""
        own, cold = self._own.copy(), self._cold.copy()
        (cold if _is_cold(backlog, self._alone) else own)[self._server_of(backlog.folder)] += 1
        if own.total() + sum(map(_shared_runs, cold.values())) > max_runs:
            return False
        self._own, self._cold = own, cold
        return True


def assign_runs(
    due: Sequence[Backlog], alone: Collection[str] = (), server_of: Callable[[str], str] = _same_server
) -> RunAssignment:
    """Decide which tables share a run. Pure.

    Args:
        due: the backlogs of the due tables.
        alone: tables that failed recently. They run alone so that another failure does not end a shared run.
        server_of: returns the Spark server of a table. A run has one server, so only tables of one server share a run.
    """
    cold: dict[str, list[str]] = {}
    for backlog in due:
        if _is_cold(backlog, alone):
            cold.setdefault(server_of(backlog.folder), []).append(backlog.folder)
    groups = [tables for tables in cold.values() if len(tables) > 1]
    sharing = {table for tables in groups for table in tables}
    own = [backlog.folder for backlog in due if backlog.folder not in sharing]
    # Dealt out in order, so that the tables that became due first are first in their runs.
    runs = [(tables, _shared_runs(len(tables))) for tables in groups]
    return RunAssignment(own, [tables[start::number] for tables, number in runs for start in range(number)])


def _shared_runs(tables: int) -> int:
    return -(-tables // MAX_SHARED_TABLES)


def _is_cold(backlog: Backlog, alone: Collection[str]) -> bool:
    # Files of unknown size may be large.
    is_known = backlog.unsized <= COLD_HINTS
    small = is_known and backlog.hints <= COLD_SMALL_HINTS and backlog.size <= COLD_BYTES
    return (small or backlog.hints <= COLD_HINTS) and backlog.folder not in alone
