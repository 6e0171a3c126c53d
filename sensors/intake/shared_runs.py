"""Decides which of the due tables get a run of their own, and which tables share a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tidegate.resources.lake_root.inbox import Backlog

#: Up to this many hints, a run of its own would cost some CPU-seconds and its work only fractions of a second.
COLD_HINTS = 10
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


def assign_runs(due: Sequence[Backlog], alone: Collection[str] = ()) -> RunAssignment:
    """Decide which tables share a run. Pure.

    Args:
        due: the backlogs of the due tables.
        alone: tables that failed recently. They run alone so that another failure does not end a shared run.
    """
    cold = [backlog.folder for backlog in due if backlog.hints <= COLD_HINTS and backlog.folder not in alone]
    if len(cold) < 2:
        return RunAssignment([backlog.folder for backlog in due])
    shared = set(cold)
    runs = -(-len(cold) // MAX_SHARED_TABLES)
    hot = [backlog.folder for backlog in due if backlog.folder not in shared]
    # Dealt out in order, so that the tables that became due first are first in their runs.
    return RunAssignment(hot, [cold[start::runs] for start in range(runs)])
