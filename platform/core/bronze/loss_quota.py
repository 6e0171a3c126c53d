"""The quota of server losses of a table: all tables share the Spark server, so a table that often loses it rests."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

#: Losses of a table within `PERIOD` after which it rests. One file among ten thousand costs four.
MAX_LOSSES = 8
#: Seconds in which losses count.
PERIOD = 24 * 3600
#: Seconds within which losses of several tables are one loss of the server: a client asks for a server that does not
#: answer for ten minutes.
_MAX_OUTAGE_SECONDS = 600


@dataclass(frozen=True)
class Loss:
    """A loss of the Spark server, as a run has noted it.

    Attributes:
        at: epoch seconds.
        source: whose rows were being read: a table's, by its key or by `silver_reader`, or for tables that were
            discovered, the first folder of all that are below it, because their producer makes as many as it likes.
    """

    at: float
    source: str


def silver_reader(name: str) -> str:
    """Return what a loss calls the silver table of a name. A table key has no colon."""
    return f"silver:{name}"


def rests_until(losses: Collection[Loss], source: str) -> float | None:
    """Return until when the tables of a source rest, in epoch seconds. None if its losses are within the quota.

    A loss that several sources have noted is a part of a loss for each of them, because only one of them is at fault.
    A table rests until so many losses are older than `PERIOD` that the others are within the quota.

    Args:
        losses: of all tables, at least those of the last `PERIOD`.
        source: of the table that has just lost the server.
    """
    own = sorted((loss.at for loss in losses if loss.source == source), reverse=True)
    count = 0.0
    for at in own:
        if at <= own[0] - PERIOD:
            return None
        count += 1 / len({loss.source for loss in losses if abs(loss.at - at) <= _MAX_OUTAGE_SECONDS})
        if count > MAX_LOSSES - 1e-9:
            return at + PERIOD
    return None
