"""The tables that exist, shared by all queues of a tick: a table that one queue discovers exists for the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.discovery import count_discovered, room_today
from tidegate.resources.lake import Lake
from tidegate.sensors.intake.intake_result import IntakeResult
from tidegate.sensors.intake.message_routing import Parsed, route_messages


class KnownTables:
    """The tables of a lake during one tick.

    They are read when the first message has come, because most polls of an idle lake bring none.

    Args:
        lake: the lake.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._lock = threading.Lock()
        self._tables: frozenset[TableKey] | None = None
        self._room = 0

    def routed(self, parsed: Sequence[Parsed]) -> IntakeResult:
        """Route the messages of an event queue.

        No other queue waits while S3 is asked. If another queue discovered a table meanwhile, the messages are routed
        again: two tables never overlap, and a day brings no more new tables than it may.
        """
        while True:
            before, room = self._now()
            tables = set(before)
            intake = route_messages(parsed, self._lake.config, tables, self._lake.store.objects, room)
            new = tables - before
            if not new:
                return intake
            with self._lock:
                if self._tables is before:
                    self._tables = before | new
                    self._room -= count_discovered(new, self._lake.config)
                    return intake

    def _now(self) -> tuple[frozenset[TableKey], int]:
        with self._lock:
            if self._tables is None:
                births = {
                    TableKey.decode(table_key): born for table_key, born in self._lake.store.table_births().items()
                }
                self._room = room_today(births, self._lake.config, time.time())
                self._tables = frozenset(births)
            return self._tables, self._room
