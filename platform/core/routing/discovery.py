"""Discovery: folders that become tables without an entry in `lake.yaml`.

A day has room for so many tables of a bucket and first folder. The events of other folders wait for another day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.config.table_defaults import TableDefaults
from tidegate.platform.core.keys.file_format import FormatName, mode_of
from tidegate.platform.core.keys.table_key import TableKey

_DAY_SECONDS = 24 * 3600

#: What becomes of a folder that is not a table yet: a table today, a later day's table whose events are kept, or
#: neither.
Fate = Literal["new", "waits", "refused"]


def discovered_table(key: TableKey, format: FormatName | None, config: LakeConfig) -> TableSpec:
    """Return the table that discovery makes of a folder. Without a format, the ending of each file determines it.

    Its rows are loaded unless `lake.yaml` says that discovery registers Parquet: a registered table's Delta log is
    below its folder, and a writer of the log decides what the table shows.
    """
    return _discover_table(key, format, config.defaults, config.discovery_registers)


def gone_reason(table: TableKey) -> str:
    """Return why an event makes no table if S3 has none of the objects that it was asked for."""
    return (
        f"S3 has none of the objects of {table.uri} that it was asked for, and a folder becomes no table for what is "
        "gone; if it has files, add a table with this prefix to lake.yaml and materialize it"
    )


def limit_reason(table: TableKey, config: LakeConfig, *, waits: bool) -> str:
    """Return why an event makes no table when the day's limit is reached, and what to do.

    Args:
        table: what its folder would become.
        waits: whether the event is kept until a day has room for the table.
    """
    limit = config.discovery.per_day if config.discovery else 0
    reached = (
        f"lake.yaml lets {limit} new tables a day come by themselves in a first folder of a bucket, and as many new "
        "first folders (`discovery`: `per_day`), and today has had as many, so its folder "
        f"{table.uri} becomes none today"
    )
    if waits:
        return (
            f"{reached}. Its events wait, and the first tick of a later day that has room reads them; if it should not "
            "wait, add a table with this prefix to lake.yaml, or raise `per_day`, and reload the definitions"
        )
    return (
        f"{reached}, and as many folders wait for a later day; if it should be one, add a table with this prefix to "
        "lake.yaml, or raise `per_day` and wait for its next file, then materialize its partition, which takes in what "
        "is there already"
    )


@lru_cache(1000)  # called for each event, and a burst has few tables
def _discover_table(key: TableKey, format: FormatName | None, defaults: TableDefaults, registers: bool) -> TableSpec:
    by_format = mode_of(format) if format else None
    return TableSpec.model_construct(
        name=key.sql_name,
        prefix=key.uri,
        format=format,
        mode=by_format if registers else "load",
        **dict(defaults),
    )


@dataclass
class Room:
    """Room for tables: `limit` of them below each first folder of a bucket, and `limit` first folders that had none.

    So nothing that a producer does below its own first folder takes room from the others.

    Attributes:
        limit: `per_day` of `lake.yaml`.
        old: first folders, with their bucket, that count as no new ones.
        tables: the tables that have taken room.
    """

    limit: int
    old: frozenset[TableKey]
    tables: set[TableKey] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._by_folder = Counter(map(first_folder, self.tables))
        self._new_folders = Counter(folder.bucket for folder in self._by_folder.keys() - self.old)

    def admits(self, table: TableKey) -> bool:
        """Return whether there is room for a table, or it has taken room already."""
        folder = first_folder(table)
        if table in self.tables:
            return True
        if folder in self.old or folder in self._by_folder:
            return self._by_folder[folder] < self.limit
        return self._new_folders[folder.bucket] < self.limit

    def take(self, table: TableKey) -> None:
        """Take the room of a table that is admitted."""
        if table in self.tables:
            return
        folder = first_folder(table)
        self._new_folders[folder.bucket] += folder not in self.old and folder not in self._by_folder
        self._by_folder[folder] += 1
        self.tables.add(table)

    def copy(self) -> Room:
        """Return a room of its own with the same tables."""
        return Room(self.limit, self.old, set(self.tables))


class NewTables:
    """The tables that discovery makes, and the folders whose events wait until a day has room for them.

    As many folders may wait as a day may bring tables, by the same rule. So their events have a bound, too.

    Args:
        today: room for the tables of this day.
        waiting: returns the folders whose events wait already. It is called before the first decision on such a folder.
    """

    def __init__(self, today: Room, waiting: Callable[[], Iterable[TableKey]]) -> None:
        self.today = today
        self._waiting = waiting
        self._wait: Room | None = None

    def fate(self, table: TableKey) -> Fate:
        """Return what becomes of a folder, and take no room."""
        if self.today.admits(table):
            return "new"
        return "waits" if self._waits.admits(table) else "refused"

    def take(self, table: TableKey) -> Fate:
        """Return what becomes of a folder, and take its room."""
        fate = self.fate(table)
        if fate != "refused":
            (self.today if fate == "new" else self._waits).take(table)
        return fate

    def become(self, other: NewTables) -> None:
        """Take over what another value has, which was a copy of this one."""
        self.today, self._wait = other.today, other._wait

    def copy(self) -> NewTables:
        """Return a value of its own with the same tables and folders."""
        found = NewTables(self.today.copy(), self._waiting)
        found._wait = self._wait and self._wait.copy()
        return found

    @property
    def _waits(self) -> Room:
        if self._wait is None:
            self._wait = Room(self.today.limit, self.today.old, set(self._waiting()))
        return self._wait


def first_folder(table: TableKey) -> TableKey:
    """Return the first folder of a table's prefix."""
    return TableKey(table.bucket, table.prefix[: table.prefix.find("/") + 1])


def room_today(births: Mapping[TableKey, float | None], config: LakeConfig, now: float) -> Room:
    """Return the room for tables that discovery may make today.

    A table counts on the day of its birth, and before its birth. A configured table never counts.

    Args:
        births: epoch seconds of each table's birth. None for a table that has hints but no birth.
        now: epoch seconds.
    """
    midnight = now - now % _DAY_SECONDS
    new = {table for table, born in births.items() if born is None or born >= midnight} - config.keys().keys()
    old = frozenset(map(first_folder, (births.keys() | config.keys().keys()) - new))
    return Room(config.discovery.per_day if config.discovery else 0, old, new)
