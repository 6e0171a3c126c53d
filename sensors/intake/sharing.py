"""Which of the tables whose turn it is get a run of their own, and which share one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tidegate.resources.lake_root.inbox import Backlog

#: Hints of a table for which a run of its own would cost more than its work: some CPU-seconds beside fractions of one.
COLD_HINTS = 10
#: Tables of one shared run: what they share is little per table by then, and the last one has not waited long.
MAX_SHARED_TABLES = 50


@dataclass(frozen=True)
class Sharing:
    """The runs to ask for.

    Attributes:
        own: table keys that get a run each.
        shared: the table keys of each run that several share.
    """

    own: list[str] = field(default_factory=list)
    shared: list[list[str]] = field(default_factory=list)


def share(due: Sequence[Backlog], alone: Collection[str] = ()) -> Sharing:
    """Who shares; pure.

    Args:
        due: what waits for the tables whose turn it is.
        alone: tables that failed lately: their next failure is to be no shared run's.
    """
    cold = [one.folder for one in due if one.hints <= COLD_HINTS and one.folder not in alone]
    if len(cold) < 2:
        return Sharing([one.folder for one in due])
    shared = set(cold)
    runs = -(-len(cold) // MAX_SHARED_TABLES)
    hot = [one.folder for one in due if one.folder not in shared]
    # Dealt out evenly, and in order: whose turn came first is worked off first.
    return Sharing(hot, [cold[start::runs] for start in range(runs)])
