"""How a lake does: what waits for each table and in each queue, and what of it is too much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class TableHealth:
    """What waits for one table.

    Attributes:
        key: table key.
        name: SQL name where the table is configured, else the table key.
        files: events that wait; a file of which two events tell counts twice.
        size: bytes of those files, as far as the events told.
        lag: seconds since the oldest of these events; 0 where none waits.
        limit: seconds that it may be.
        whole: whether that is all; if not, more wait.
    """

    key: str
    name: str
    files: int = 0
    size: int = 0
    lag: float = 0.0
    limit: int = 0
    whole: bool = True

    @property
    def behind(self) -> bool:
        """Whether an event waits for longer than it may."""
        return self.lag > self.limit


@dataclass(frozen=True)
class QueueHealth:
    """What is in one queue, by SQS's approximate counts.

    Attributes:
        waiting: messages that can be received.
        in_flight: messages that were received and not deleted yet.
        dead: messages in its dead-letter queue; None where there is none, or it does not say.
        missed: events of the day (UTC) that no table takes, by outcome: `no_table`, `malformed`.
    """

    name: str
    waiting: int
    in_flight: int
    dead: int | None = None
    missed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Health:
    """A lake at one moment.

    Attributes:
        at: epoch seconds.
        tables: every table of the lake, the most urgent first.
        queues: those that answered.
        quarantined: objects and rows that were set apart in the last 24 hours, by table key.
        unknown: a sentence for each thing that could not be measured.
    """

    at: float
    tables: tuple[TableHealth, ...] = ()
    queues: tuple[QueueHealth, ...] = ()
    quarantined: Mapping[str, int] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()

    @cached_property
    def behind(self) -> tuple[TableHealth, ...]:
        """Tables for which an event waits for too long."""
        return tuple(one for one in self.tables if one.behind)

    @cached_property
    def waiting(self) -> tuple[TableHealth, ...]:
        """Tables for which anything waits."""
        return tuple(one for one in self.tables if one.files)

    @property
    def files(self) -> int:
        """Events that wait in the inbox."""
        return sum(one.files for one in self.waiting)

    @property
    def size(self) -> int:
        """Bytes of their files."""
        return sum(one.size for one in self.waiting)

    @property
    def lag(self) -> float:
        """Seconds since the oldest of them."""
        return max((one.lag for one in self.waiting), default=0.0)

    @property
    def dead(self) -> int:
        """Messages in the dead-letter queues that answered."""
        return sum(one.dead or 0 for one in self.queues)


def by_urgency(table: TableHealth, quarantined: Mapping[str, int]) -> tuple[float, float, int, str]:
    """Sorts tables: first those furthest beyond their limit, then those with most in quarantine, then by name."""
    return (-max(0.0, table.lag - table.limit), -table.lag, -quarantined.get(table.key, 0), table.name)
