"""Retention of Dagster's history: old runs and events are deleted, but not the last ones that the UI shows."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as sa
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, SqlEventLogStorageTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from pydantic import Field

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.run_log import RunLog

#: Days after which runs are deleted, and events that sensors reported without a run.
RUN_DAYS, EVENT_DAYS = 30, 7
#: Seconds that runs have, and as many what sensors reported. Then it stops, as it occupies one of the concurrent runs.
_SECONDS = 450.0
_JOB = "forget_history"
_REPOSITORY_TAG = ".dagster/repository"
_FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
#: Runs that are deleted at a time, and rows in one statement.
_MAX_RUNS, _MAX_ROWS = 50_000, 500
_EVALUATION = SqlEventLogStorageTable.c.dagster_event_type == "ASSET_CHECK_EVALUATION"


@dataclass(frozen=True)
class DeletedHistory:
    """What was deleted.

    Attributes:
        runs: number of runs, each with its events and logs.
        events: number of materializations, observations and evaluations that sensors reported.
        checks: number of rows of the history of checks.
        left: whether the time was up before everything was deleted.
    """

    runs: int
    events: int
    checks: int
    left: bool


def forget(
    instance: dg.DagsterInstance,
    now: float,
    *,
    assets: Collection[dg.AssetKey],
    jobs: Collection[str],
    repository: str | None,
    clock: Callable[[], float] = time.monotonic,
    dry_run: bool = False,
) -> DeletedHistory:
    """Delete old runs and events of a lake.

    The last materialization of each asset and partition is kept with its run, or the UI would show the asset as never
    materialized. The last evaluation of each check is kept, too. Runs and assets of other code are never deleted.
    However much there is to delete, each night deletes some runs and some of what sensors reported.

    Args:
        instance: Dagster's instance.
        now: epoch seconds.
        assets: assets of the lake.
        jobs: names of the lake's jobs.
        repository: Dagster's repository tag of the code location, all of whose runs are the lake's. None if there is no
            such tag.
        clock: returns seconds, for the time limits.
        dry_run: delete nothing, and return what would be deleted.
    """
    storage = instance.event_log_storage
    sql = storage if isinstance(storage, SqlEventLogStorage) else None
    kept = _last_materialization_runs(sql) if sql else set()
    runs, left, is_over = 0, False, _deadline(clock)
    for run_id in _old_runs(instance, now, jobs, repository):
        if left := runs > 0 and is_over():
            break
        if run_id not in kept:
            if not dry_run:
                _forget_run(instance, run_id)
            runs += 1
    if sql is None:
        return DeletedHistory(runs, 0, 0, left=left)
    is_over = _deadline(clock)
    with sql.index_connection() as connection:
        events, checks = (
            _storage_ids(connection, _old_events(now, assets)),
            _storage_ids(connection, _old_checks(now, assets)),
        )
        if dry_run:
            return DeletedHistory(runs, len(events), len(checks), left=left)
        gone = _delete(connection, SqlEventLogStorageTable, events, is_over)
        # The query of the events reads the rows of the checks.
        rows = _delete(connection, AssetCheckExecutionsTable, checks, is_over) if gone == len(events) else 0
    _forget_copies(sql, now, assets)
    return DeletedHistory(runs, gone, rows, left=left or gone < len(events) or rows < len(checks))


def _deadline(clock: Callable[[], float]) -> Callable[[], bool]:
    until = clock() + _SECONDS
    return lambda: clock() > until


def _old_runs(instance: dg.DagsterInstance, now: float, jobs: Collection[str], repository: str | None) -> Iterator[str]:
    before = datetime.fromtimestamp(now, UTC) - timedelta(days=RUN_DAYS)
    filters = (
        [dg.RunsFilter(statuses=_FINISHED, updated_before=before, tags={_REPOSITORY_TAG: repository})]
        if repository
        else [dg.RunsFilter(statuses=_FINISHED, updated_before=before, job_name=job) for job in sorted(jobs)]
    )
    for wanted in filters:
        yield from instance.get_run_ids(wanted, limit=_MAX_RUNS)


def _forget_run(instance: dg.DagsterInstance, run_id: str) -> None:
    instance.delete_run(run_id)
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    # With SQLite each run has a file, which Dagster does not delete.
    if shard := getattr(instance.event_log_storage, "path_for_shard", None):
        for ending in ("", "-wal", "-shm"):
            Path(f"{shard(run_id)}{ending}").unlink(missing_ok=True)


def _last_materialization_runs(sql: SqlEventLogStorage) -> set[str]:
    """Return the ids of the runs of the last materialization of each asset and partition."""
    events = SqlEventLogStorageTable.c
    last = (
        sa.select(sa.func.max(events.id))
        .where(events.dagster_event_type == "ASSET_MATERIALIZATION")
        .group_by(events.asset_key, events.partition)
    )
    with sql.index_connection() as connection:
        return {row[0] for row in connection.execute(sa.select(events.run_id).distinct().where(events.id.in_(last)))}


def _old_events(now: float, assets: Collection[dg.AssetKey]) -> sa.Select[Any]:
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
    return sa.select(events.id).where(_without_run(now), wanted)


def _forget_copies(sql: SqlEventLogStorage, now: float, assets: Collection[dg.AssetKey]) -> None:
    """Delete the second copies of these events, which SQLite stores twice.

    Nothing reads the second copy, in the file of the run with the empty id.
    """
    if hasattr(sql, "path_for_shard"):
        with sql.run_connection("") as connection:
            old = sa.and_(_without_run(now), sa.or_(_asset_filter(assets), _EVALUATION))
            connection.execute(SqlEventLogStorageTable.delete().where(old))


def _asset_filter(assets: Collection[dg.AssetKey]) -> Any:
    return SqlEventLogStorageTable.c.asset_key.in_([key.to_string() for key in assets])


def _without_run(now: float) -> Any:
    """Return the condition of old events that a sensor reported: these have no run."""
    events = SqlEventLogStorageTable.c
    return sa.and_(events.run_id == "", events.timestamp < _convert_to_naive_utc(now - EVENT_DAYS * 86_400))


def _old_checks(now: float, assets: Collection[dg.AssetKey]) -> sa.Select[Any]:
    checks, keys = AssetCheckExecutionsTable.c, [key.to_string() for key in assets]
    old = checks.create_timestamp < _convert_to_naive_utc(now - RUN_DAYS * 86_400)
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


class HistoryConfig(dg.Config):
    """How Dagster's history is deleted."""

    dry_run: bool = Field(False, description="Only count what would be deleted.")


def history_job(
    names: LakeNames,
    assets: Iterable[dg.AssetsDefinition | dg.AssetSpec],
    jobs: Iterable[str],
    *,
    is_alone: bool = True,
) -> dg.JobDefinition:
    """Build the job that deletes the old history of a lake from Dagster's storage.

    Args:
        names: the lake.
        assets: every asset of the lake.
        jobs: names of the lake's other jobs.
        is_alone: whether every run of the code location is the lake's. Otherwise only runs of the lake's jobs are
            deleted.
    """
    keys = {key for asset in assets for key in ([asset.key] if isinstance(asset, dg.AssetSpec) else asset.keys)}
    job = names.name(_JOB)
    every_job = {*jobs, job}

    @dg.op(
        name=names.name("forget_history_op"),
        description="Deletes old runs and events of this lake from Dagster's storage.",
    )
    def forget_op(context: dg.OpExecutionContext, config: HistoryConfig) -> None:
        done = forget(
            context.instance,
            time.time(),
            assets=keys,
            jobs=every_job,
            repository=context.run.tags.get(_REPOSITORY_TAG) if is_alone else None,
            dry_run=config.dry_run,
        )
        context.add_output_metadata({"dry_run": config.dry_run, **asdict(done)})
        RunLog(context.log).info(
            f"{'would forget' if config.dry_run else 'forgot'} {done.runs} runs, {done.events} events without a run "
            f"and {done.checks} results of checks"
            + ("; the time was up, the rest is deleted tomorrow" if done.left else "")
        )

    @dg.job(
        name=job,
        executor_def=dg.in_process_executor,
        description=f"Deletes from Dagster's storage what this lake's runs of {RUN_DAYS} days ago and its sensors of "
        f"{EVENT_DAYS} days ago left there, but for the last of each asset, partition and check. The lake itself loses "
        "nothing: ledgers and operations log keep what was done.",
    )
    def forget_job() -> None:
        forget_op()

    return forget_job
