"""Whose turn it is: which of the tables that wait get a run of bronze now."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from tidegate.platform.core.bronze.plan import BATCH_BYTES
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.resources.lake_root.inbox import Backlog

#: Bronze runs of the sensor that may be queued or at work at a time, and the tables that a tick asks for at most. A
#: longer queue would not be worked off sooner, and each request costs Dagster's daemon as much as a small run.
MAX_RUNS = 100


@dataclass
class Turns:
    """What a tour of the inbox came to.

    Attributes:
        due: what waits for the tables whose turn it is, in the tour's order.
        seen: table keys that have hints waiting.
        hints: how many wait for those, at least.
        strays: a sentence for each object that is no manifest.
        last: the folder that was looked at last; the next tour begins behind it.
        whole: whether the tour came all around.
    """

    due: list[Backlog] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    hints: int = 0
    strays: list[str] = field(default_factory=list)
    last: str = ""
    whole: bool = False


def is_ready(backlog: Backlog, config: LakeConfig, now: float) -> bool:
    """Whether the table's oldest hint has waited for the window, or a batch is full: of hints, or of bytes.

    Args:
        backlog: of a table.
        config: the lake.
        now: epoch seconds.
    """
    settings = config.settings(TableKey.decode(backlog.folder))
    full = backlog.hints >= settings.max_files or backlog.size >= BATCH_BYTES
    return full or now - backlog.since >= settings.window


def take_turns(
    tour: Iterable[Backlog],
    config: LakeConfig,
    now: float,
    *,
    held: Collection[str],
    most: int,
    after: str,
    goes_on: Callable[[], bool] = lambda: True,
) -> Turns:
    """Go around until so many tables are due, or time is up; pure.

    The next tour begins where this one ended, so each table that is ready has its turn before any has a second one,
    however much waits for that. A tour that may not ask for any run ends where it began.

    Args:
        tour: what waits, table by table.
        config: the lake.
        now: epoch seconds.
        held: tables that have a run, or rest after one that failed.
        most: tables that may be due.
        after: the folder behind which the tour begins.
        goes_on: asked after each table whether there is time for another.
    """
    turns = Turns(last=after)
    for backlog in tour:
        if len(turns.due) >= most:
            return turns
        turns.last = backlog.folder
        turns.strays += backlog.strays
        if backlog.hints:
            turns.seen.append(backlog.folder)
            turns.hints += backlog.hints
            if backlog.folder not in held and is_ready(backlog, config, now):
                turns.due.append(backlog)
        if not goes_on():
            return turns
    turns.whole = True
    return turns
