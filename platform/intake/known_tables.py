"""The tables that exist, shared by all queues of a tick: a table that one queue discovers exists for the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.discovery import NewTables, room_today
from tidegate.platform.intake.intake_result import IntakeResult
from tidegate.platform.intake.message_routing import ParsedMessage, route_messages
from tidegate.platform.lake.lake import Lake


class KnownTables:
    """The tables of a lake during one tick.

    They are read when the first message has come, because most polls of an idle lake bring none.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._lock = threading.Lock()
        self._state: tuple[frozenset[TableKey], NewTables] | None = None
        self._born = frozenset[TableKey]()

    def route_messages(self, parsed: Sequence[ParsedMessage]) -> IntakeResult:
        """Route the messages of an event queue.

        No other queue waits while S3 is asked. If another queue discovered a table meanwhile, the messages are routed
        again: a day brings no more new tables than it may, however many queues have their events.
        """
        while True:
            before = self._read_tables()
            tables, new = set(before[0]), before[1].copy()
            intake = route_messages(parsed, self._lake.config, tables, self._lake.store.objects, new)
            intake.unborn = {
                table
                for table in intake.hints
                if table not in self._born and self._lake.config.table_for(table) is None
            }
            if tables == before[0] and not intake.held:
                return intake
            with self._lock:
                if self._state is before:
                    self._state = frozenset(tables), new
                    return intake

    def _read_tables(self) -> tuple[frozenset[TableKey], NewTables]:
        with self._lock:
            if self._state is None:
                births, new = _births_now(self._lake, time.time())
                self._state = frozenset(births), new
                self._born = frozenset(table for table, born in births.items() if born is not None)
            return self._state


def tables_now(lake: Lake, now: float) -> tuple[frozenset[TableKey], NewTables]:
    """Return the tables of a lake, and the room for new ones.

    Args:
        now: epoch seconds.
    """
    births, new = _births_now(lake, now)
    return frozenset(births), new


def _births_now(lake: Lake, now: float) -> tuple[Mapping[TableKey, float | None], NewTables]:
    births = {TableKey.decode(table_key): born for table_key, born in lake.store.table_births().items()}

    def waiting_tables() -> list[TableKey]:
        return [TableKey.decode(table_key) for table_key in lake.store.held.tables()]

    return births, NewTables(room_today(births, lake.config, now), waiting_tables)
