"""Discovery: folders that become tables without an entry in `lake.yaml`, and how many may in a day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from tidegate.platform.core.config.defaults import TableDefaults
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.file_format import FormatName, mode_of
from tidegate.platform.core.keys.table_key import TableKey

_DAY_SECONDS = 24 * 3600


def discovered_table(key: TableKey, format: FormatName | None, config: LakeConfig) -> TableSpec:
    """Return the table that discovery makes of a folder. Without a format, the ending of each file determines it.

    Its rows are loaded unless `lake.yaml` says that discovery registers Parquet: a registered table's Delta log is
    below its folder, and a writer of the log decides what the table shows.
    """
    return _discovered(key, format, config.defaults, config.discovery_registers)


def count_discovered(tables: Iterable[TableKey], config: LakeConfig) -> int:
    """Return how many of these tables are not in `lake.yaml`."""
    return sum(config.table_for(table) is None for table in tables)


def room_today(births: Mapping[TableKey, float | None], config: LakeConfig, now: float) -> int:
    """Return how many more tables discovery may make today.

    A table counts on the day of its birth, and before its birth. A configured table never counts.

    Args:
        births: epoch seconds of each table's birth. None for a table that has hints but no birth.
        config: the lake.
        now: epoch seconds.
    """
    if config.discovery is None:
        return 0
    midnight = now - now % _DAY_SECONDS
    new = (table for table, born in births.items() if born is None or born >= midnight)
    return max(0, config.discovery.per_day - count_discovered(new, config))


def gone_reason(table: TableKey) -> str:
    """Return why an event of a deleted object makes no table."""
    return f"it is gone, and {table.uri} becomes no table for what is gone"


def limit_reason(table: TableKey, config: LakeConfig) -> str:
    """Return why an event makes no table when the day's limit is reached, and what to do."""
    limit = config.discovery.per_day if config.discovery else 0
    return (
        f"lake.yaml lets {limit} new tables a day come by themselves (`discovery`: `per_day`), and today has had as "
        f"many, so its folder {table.uri} becomes none; if it should be one, add a table with this prefix to "
        "lake.yaml, or raise `per_day` and wait for its next file, then materialize its partition, which takes in what "
        "is there already"
    )


@lru_cache(1000)  # called for each event, and a burst has few tables
def _discovered(key: TableKey, format: FormatName | None, defaults: TableDefaults, registers: bool) -> TableSpec:
    by_format = mode_of(format) if format else None
    return TableSpec.model_construct(
        name=key.sql_name,
        prefix=key.uri,
        format=format,
        mode=by_format if registers else "load",
        **dict(defaults),
    )
