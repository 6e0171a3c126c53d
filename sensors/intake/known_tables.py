"""Which tables there are, for all queues of a tick: what the messages of one make a table is one for the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.resources.aws.sqs import Message
from tidegate.resources.lake import Lake
from tidegate.sensors.intake.sort import Intake, discovered, route_messages

_DAY = 24 * 3600


class KnownTables:
    """The tables of a lake while a tick works.

    They are asked for once something has come: most polls of an idle lake bring nothing.

    Args:
        lake: handles.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._lock = threading.Lock()
        self._tables: frozenset[TableKey] | None = None
        self._room = 0

    def sorted(self, messages: Sequence[Message]) -> Intake:
        """Sort the messages of a queue of events.

        Nobody waits for what is asked of S3 meanwhile. Where another queue made a table of something at the same
        time, it is done again: two tables never overlap, and a day brings no more than it may.
        """
        while True:
            before, room = self._now()
            tables = set(before)
            intake = route_messages(messages, self._lake.config, tables, self._lake.store.objects, room)
            new = tables - before
            if not new:
                return intake
            with self._lock:
                if self._tables is before:
                    self._tables = before | new
                    self._room -= discovered(new, self._lake.config)
                    return intake

    def _now(self) -> tuple[frozenset[TableKey], int]:
        with self._lock:
            if self._tables is None:
                births = {TableKey.decode(text): born for text, born in self._lake.store.table_births().items()}
                self._room = room_today(births, self._lake.config, time.time())
                self._tables = frozenset(births)
            return self._tables, self._room


def room_today(births: Mapping[TableKey, float | None], config: LakeConfig, now: float) -> int:
    """How many more tables may come by themselves today; pure.

    A table counts on the day of its birth, and until then. One that is configured, now or since, never counts.

    Args:
        births: epoch seconds of each table's birth; None for one that only has hints waiting.
        config: the lake.
        now: epoch seconds.
    """
    if config.discovery is None:
        return 0
    midnight = now - now % _DAY
    new = (table for table, born in births.items() if born is None or born >= midnight)
    return max(0, config.discovery.per_day - discovered(new, config))
