"""Deletion of what sensors and checks left in Dagster's storage: by SQL, in tables that are not public.

Dagster itself never deletes these rows. A version of it in which the tables are others breaks the job `forget_events`,
which is off unless somebody asks for it, and nothing else: no other module imports this one before that job runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import sqlalchemy as sa
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, SqlEventLogStorageTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage

#: Rows in one statement.
_MAX_ROWS = 500
_EVALUATION = SqlEventLogStorageTable.c.dagster_event_type == "ASSET_CHECK_EVALUATION"


@dataclass(frozen=True)
class DeletedRows:
    """What was deleted.

    Attributes:
        events: number of materializations, observations and evaluations that sensors reported.
        checks: number of rows of the history of checks.
        left: whether the time was up before everything was deleted.
    """

    events: int
    checks: int
    left: bool


def forget_rows(
    instance: dg.DagsterInstance,
    assets: Collection[dg.AssetKey],
    *,
    events_before: float,
    checks_before: float,
    is_over: Callable[[], bool],
    dry_run: bool,
) -> DeletedRows:
    """Delete old events that sensors reported without a run, and old results of checks.

    The last of each asset, partition and check is kept. Events of other assets are never deleted.

    Args:
        assets: assets of the lake.
        events_before: epoch seconds, before which events of sensors are old.
        checks_before: epoch seconds, before which results of checks are old.
        is_over: whether the time is up. Some rows are deleted in any case.
        dry_run: delete nothing, and return what would be deleted.
    """
    sql = instance.event_log_storage
    if not isinstance(sql, SqlEventLogStorage):
        return DeletedRows(0, 0, left=False)
    with sql.index_connection() as connection:
        events = _storage_ids(connection, _old_events(events_before, assets))
        checks = _storage_ids(connection, _old_checks(checks_before, assets))
        if dry_run:
            return DeletedRows(len(events), len(checks), left=False)
        gone = _delete(connection, SqlEventLogStorageTable, events, is_over)
        # The query of the events reads the rows of the checks.
        rows = _delete(connection, AssetCheckExecutionsTable, checks, is_over) if gone == len(events) else 0
    _forget_copies(sql, events_before, assets)
    return DeletedRows(gone, rows, left=gone < len(events) or rows < len(checks))


def _old_events(before: float, assets: Collection[dg.AssetKey]) -> sa.Select[Any]:
    """Return the query of the ids of what sensors reported without a run, but for the last of each."""
    events, checks = SqlEventLogStorageTable.c, AssetCheckExecutionsTable.c
    own, keys = _asset_filter(assets), [key.to_string() for key in assets]
    last = (
        sa.select(sa.func.max(events.id))
        .where(own)
        .group_by(events.asset_key, events.dagster_event_type, events.partition)
    )
    # The asset of an evaluation is only in the history of checks.
    evaluations = sa.select(checks.evaluation_event_storage_id).where(
        checks.asset_key.in_(keys), checks.id.not_in(_last_checks(keys))
    )
    wanted = sa.or_(sa.and_(own, events.id.not_in(last)), sa.and_(_EVALUATION, events.id.in_(evaluations)))
    return sa.select(events.id).where(_without_run(before), wanted)


def _forget_copies(sql: SqlEventLogStorage, before: float, assets: Collection[dg.AssetKey]) -> None:
    """Delete the second copies of these events, which SQLite stores twice.

    Nothing reads the second copy, in the file of the run with the empty id.
    """
    if hasattr(sql, "path_for_shard"):
        with sql.run_connection("") as connection:
            old = sa.and_(_without_run(before), sa.or_(_asset_filter(assets), _EVALUATION))
            connection.execute(SqlEventLogStorageTable.delete().where(old))


def _asset_filter(assets: Collection[dg.AssetKey]) -> Any:
    return SqlEventLogStorageTable.c.asset_key.in_([key.to_string() for key in assets])


def _without_run(before: float) -> Any:
    """Return the condition of old events that a sensor reported: these have no run."""
    events = SqlEventLogStorageTable.c
    return sa.and_(events.run_id == "", events.timestamp < _convert_to_naive_utc(before))


def _old_checks(before: float, assets: Collection[dg.AssetKey]) -> sa.Select[Any]:
    checks, keys = AssetCheckExecutionsTable.c, [key.to_string() for key in assets]
    old = checks.create_timestamp < _convert_to_naive_utc(before)
    return sa.select(checks.id).where(checks.asset_key.in_(keys), old, checks.id.not_in(_last_checks(keys)))


def _last_checks(keys: Sequence[str]) -> sa.Select[tuple[int]]:
    checks = AssetCheckExecutionsTable.c
    last = sa.select(sa.func.max(checks.id)).where(checks.asset_key.in_(keys))
    return last.group_by(checks.asset_key, checks.check_name, checks.partition)


def _storage_ids(connection: Any, wanted: sa.Select[Any]) -> list[int]:
    return [row[0] for row in connection.execute(wanted)]


def _delete(connection: Any, table: sa.Table, ids: Sequence[int], is_over: Callable[[], bool]) -> int:
    """Delete rows until the time is over, but some in any case. Returns how many."""
    for start in range(0, len(ids), _MAX_ROWS):
        if start and is_over():
            return start
        connection.execute(table.delete().where(table.c.id.in_(ids[start : start + _MAX_ROWS])))
    return len(ids)


def _convert_to_naive_utc(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC).replace(tzinfo=None)
