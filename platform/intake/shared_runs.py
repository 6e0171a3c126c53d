"""Decides which of the due tables get a run of their own, and which tables share a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tidegate.platform.lake.lake_root.inbox import Backlog

#: Up to this many hints a table shares a run, whatever its files are. A run of its own would cost some CPU-seconds, and
#: its work only fractions of a second.
COLD_HINTS = 10
#: So does a table with up to this many hints of small files: that is a second of work.
COLD_SMALL_HINTS, COLD_BYTES = 100, 16 << 20
#: Tables of one shared run. With more, each table would save little and the last one would wait long.
MAX_SHARED_TABLES = 50


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
    """

    def __init__(self, alone: Collection[str] = ()) -> None:
        self._alone, self._own, self._cold = alone, 0, 0

    def add(self, backlog: Backlog, max_runs: int) -> bool:
        """Count a due table, unless it needs a run more than `max_runs`. Returns whether it was counted."""
        cold = _is_cold(backlog, self._alone)
        own, cold_tables = self._own + (not cold), self._cold + cold
        if own + -(-cold_tables // MAX_SHARED_TABLES) > max_runs:
            return False
        self._own, self._cold = own, cold_tables
        return True


def assign_runs(due: Sequence[Backlog], alone: Collection[str] = ()) -> RunAssignment:
    """Decide which tables share a run. Pure.

    Args:
        due: the backlogs of the due tables.
        alone: tables that failed recently. They run alone so that another failure does not end a shared run.
    """
    cold = [backlog.folder for backlog in due if _is_cold(backlog, alone)]
    if len(cold) < 2:
        return RunAssignment([backlog.folder for backlog in due])
    shared = set(cold)
    runs = -(-len(cold) // MAX_SHARED_TABLES)
    hot = [backlog.folder for backlog in due if backlog.folder not in shared]
    # Dealt out in order, so that the tables that became due first are first in their runs.
    return RunAssignment(hot, [cold[start::runs] for start in range(runs)])


def _is_cold(backlog: Backlog, alone: Collection[str]) -> bool:
    # Files of unknown size may be large.
    is_known = backlog.unsized <= COLD_HINTS
    small = is_known and backlog.hints <= COLD_SMALL_HINTS and backlog.size <= COLD_BYTES
    return (small or backlog.hints <= COLD_HINTS) and backlog.folder not in alone
