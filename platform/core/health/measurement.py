"""A lake's health: the backlog of each table, queue and route, and which of them exceed their limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class TableHealth:
    """The backlog of one table.

    Attributes:
        key: table key.
        name: SQL name where the table is configured, else the table key.
        files: number of waiting events. A file with two events counts twice.
        size: bytes of those files, as far as the events contain them.
        lag: seconds since the oldest of these events; 0 if none waits.
        limit: upper limit of `lag`.
        whole: whether the backlog was listed completely.
        undecided: files and signals of incomplete datasets that waited after the last run. None without `completion`.
        undecided_age: seconds since the oldest of them was recorded.
    """

    key: str
    name: str
    files: int = 0
    size: int = 0
    lag: float = 0.0
    limit: int = 0
    whole: bool = True
    undecided: int | None = None
    undecided_age: float = 0.0

    @property
    def incomplete(self) -> bool:
        """Whether an incomplete dataset waits for longer than an event may."""
        return self.undecided_age > self.limit

    @property
    def behind(self) -> bool:
        """Whether the lag exceeds its limit."""
        return self.lag > self.limit


@dataclass(frozen=True)
class QueueHealth:
    """The messages of one queue, by SQS's approximate counts.

    Attributes:
        waiting: messages that can be received.
        in_flight: messages that were received and not deleted yet.
        dead: messages in its dead-letter queue; None if there is none, or it did not answer.
        missed: events of the day (UTC) that no table takes, by outcome: `no_table`, `malformed`.
    """

    name: str
    waiting: int
    in_flight: int
    dead: int | None = None
    missed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RouteHealth:
    """The messages that wait to be forwarded by one route.

    Attributes:
        name: name of the route.
        messages: number of waiting messages, at least. A message for two queues may count twice.
        lag: seconds since the oldest of their events was sent to the lake's queue; 0 if none waits.
        limit: the route's `max_lag`; None if `lake.yaml` has no such route any more.
        undeliverable: number of messages in the route's quarantine, at least.
    """

    name: str
    messages: int = 0
    lag: float = 0.0
    limit: int | None = 0
    undeliverable: int = 0

    @property
    def behind(self) -> bool:
        """Whether the lag exceeds its limit, or messages wait for a route that does not exist any more."""
        return self.messages > 0 and (self.limit is None or self.lag > self.limit)


@dataclass(frozen=True)
class Health:
    """A lake at one moment.

    Attributes:
        at: epoch seconds.
        tables: every table of the lake, the most urgent first.
        queues: the queues that answered.
        quarantined: objects and rows that were quarantined in the last 24 hours, by table key.
        unknown: a sentence for each measurement that failed.
        routes: every route of the lake, the most urgent first. Empty: the lake has none.
    """

    at: float
    tables: tuple[TableHealth, ...] = ()
    queues: tuple[QueueHealth, ...] = ()
    quarantined: Mapping[str, int] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    routes: tuple[RouteHealth, ...] = ()

    @cached_property
    def behind(self) -> tuple[TableHealth, ...]:
        """Tables for which an event waits for too long."""
        return tuple(table for table in self.tables if table.behind)

    @cached_property
    def incomplete(self) -> tuple[TableHealth, ...]:
        """Tables in which an incomplete dataset waits for too long."""
        return tuple(table for table in self.tables if table.incomplete)

    @cached_property
    def waiting(self) -> tuple[TableHealth, ...]:
        """Tables for which anything waits."""
        return tuple(table for table in self.tables if table.files)

    @cached_property
    def routes_behind(self) -> tuple[RouteHealth, ...]:
        """Routes for which an event waits for too long."""
        return tuple(route for route in self.routes if route.behind)

    @property
    def files(self) -> int:
        """Events that wait in the inbox."""
        return sum(table.files for table in self.waiting)

    @property
    def size(self) -> int:
        """Bytes of their files."""
        return sum(table.size for table in self.waiting)

    @property
    def lag(self) -> float:
        """Seconds since the oldest of them."""
        return max((table.lag for table in self.waiting), default=0.0)

    @property
    def dead(self) -> int:
        """Messages in the dead-letter queues that answered."""
        return sum(queue.dead or 0 for queue in self.queues)


def urgency_sort_key(table: TableHealth, quarantined: Mapping[str, int]) -> tuple[float, float, int, str]:
    """Sort tables: first those furthest beyond their limit, then those with most in quarantine, then by name."""
    return (-max(0.0, table.lag - table.limit), -table.lag, -quarantined.get(table.key, 0), table.name)
