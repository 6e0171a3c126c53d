"""What one tick of the intake received: hints by table, and events without a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.events.s3_event import Reject
from tidegate.platform.core.forwarding.outbox_message import Outgoing
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.unrouted_events import Unrouted


@dataclass
class IntakeResult:
    """What one tick received.

    Attributes:
        hints: hints by table.
        unborn: tables of these that nothing but their hints in the inbox makes known: they were discovered, and have no
            birth record yet.
        counters: events without a table, by outcome.
        unrouted: these events, without those of commits, which are only counted.
        rejects: records that are not S3 events, until they are kept in quarantine.
        outgoing: messages to forward, by route, until they are kept in the outbox.
        held: hints of folders that become tables when a day has room for them, until they are stored. Their events are
            counted, too.
        received: events, S3's test events included.
        left: why messages stay in their queue although others of it were taken, as sentences.
        failures: why a queue could not be drained, by queue name.
    """

    hints: dict[TableKey, list[Hint]] = field(default_factory=dict)
    unborn: set[TableKey] = field(default_factory=set)
    counters: dict[str, int] = field(default_factory=dict)
    unrouted: list[Unrouted] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    outgoing: dict[str, list[Outgoing]] = field(default_factory=dict)
    held: dict[TableKey, list[Hint]] = field(default_factory=dict)
    received: int = 0
    left: list[str] = field(default_factory=list)
    failures: dict[str, Exception] = field(default_factory=dict)

    def count(self, outcome: str, by: int = 1) -> None:
        """Count events without a table."""
        self.counters[outcome] = self.counters.get(outcome, 0) + by

    def add_types(self, types: Mapping[str, str | None]) -> None:
        """Give hints and events without a table their event types.

        Args:
            types: the type of each event by its id.
        """
        named = {event_id: name for event_id, name in types.items() if name}
        if not named:
            return
        for hints in (*self.hints.values(), *self.held.values()):
            hints[:] = [
                replace(hint, event_type=named[hint.event_id]) if hint.event_id in named else hint for hint in hints
            ]
        self.unrouted = [
            replace(event, event_type=named[event.event_id]) if event.event_id in named else event
            for event in self.unrouted
        ]

    def add(self, other: IntakeResult) -> None:
        """Add what another part of the tick received."""
        for table, hints in other.hints.items():
            self.hints.setdefault(table, []).extend(hints)
        self.unborn |= other.unborn
        for outcome, number in other.counters.items():
            self.count(outcome, number)
        self.unrouted += other.unrouted
        self.rejects += other.rejects
        self.received += other.received
        self.left += other.left
        self.failures |= other.failures
