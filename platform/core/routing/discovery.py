"""Discovery: folders that become tables without an entry in `lake.yaml`."""

from __future__ import annotations

from functools import lru_cache

from tidegate.platform.core.config.defaults import TableDefaults
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.file_format import FormatName, mode_of
from tidegate.platform.core.keys.table_key import TableKey


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
        config: the lake.
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
