"""Retention of Dagster's history: old runs and events are deleted, but not the last ones that the UI shows."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.run_log import RunLog
from tidegate.assets.runs.executor import run_executor

if TYPE_CHECKING:
    from tidegate.assets.maintenance.history_tables import DeletedRows

#: Days after which runs are deleted, and events that sensors reported without a run.
RUN_DAYS, EVENT_DAYS = 30, 7
_DAY = 86_400
#: Seconds of a job. Then it stops, as it occupies one of the concurrent runs.
_SECONDS = 450.0
_REPOSITORY_TAG = ".dagster/repository"
_FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
#: Runs that are deleted at a time.
_MAX_RUNS = 50_000
_REST = "; the time was up, the rest is deleted tomorrow"

#: The id of the run with the last materialization of each asset and partition, as far as it is known.
_LastRuns = dict[tuple[dg.AssetKey, str | None], str | None]


@dataclass(frozen=True)
class DeletedRuns:
    """What was deleted.

    Attributes:
        runs: number of runs, each with its events and logs.
        left: whether the time was up before everything was deleted.
    """

    runs: int
    left: bool


def forget_runs(
    instance: dg.DagsterInstance,
    now: float,
    *,
    jobs: Collection[str],
    repository: str | None,
    clock: Callable[[], float] = time.monotonic,
    dry_run: bool = False,
) -> DeletedRuns:
    """Delete old runs of a lake, by Dagster's own method.

    The run of the last materialization of each asset and partition is kept, or the UI would show the asset as never
    materialized. Runs of other code are never deleted.

    Args:
        now: epoch seconds.
        jobs: names of the lake's jobs.
        repository: Dagster's repository tag of the code location, all of whose runs are the lake's. None if there is no
            such tag.
        clock: returns seconds, for the time limit.
        dry_run: delete nothing, and return what would be deleted.
    """
    runs, is_over, last = 0, _deadline(clock), _LastRuns()
    for run_id in _old_runs(instance, now, jobs, repository):
        if runs and is_over():
            return DeletedRuns(runs, left=True)
        if _has_last_materialization(instance, run_id, last):
            continue
        if not dry_run:
            _forget_run(instance, run_id)
        runs += 1
    return DeletedRuns(runs, left=False)


def forget_events(
    instance: dg.DagsterInstance,
    now: float,
    *,
    assets: Collection[dg.AssetKey],
    clock: Callable[[], float] = time.monotonic,
    dry_run: bool = False,
) -> "DeletedRows":
    """Delete what sensors of a lake reported without a run, and old results of its checks.

    Args:
        now: epoch seconds.
        assets: assets of the lake.
        clock: returns seconds, for the time limit.
        dry_run: delete nothing, and return what would be deleted.
    """
    # Its imports are private to Dagster. They must not decide whether the code location loads.
    from tidegate.assets.maintenance.history_tables import forget_rows

    return forget_rows(
        instance,
        assets,
        events_before=now - EVENT_DAYS * _DAY,
        checks_before=now - RUN_DAYS * _DAY,
        is_over=_deadline(clock),
        dry_run=dry_run,
    )


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


def _has_last_materialization(instance: dg.DagsterInstance, run_id: str, last: _LastRuns) -> bool:
    """Return whether no later run materialized some asset or partition that this run materialized."""
    made_by_run = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    for record in made_by_run.records:
        made = record.asset_materialization
        if made is None:
            continue
        place = (made.asset_key, made.partition)
        if place not in last:
            wanted = dg.AssetRecordsFilter(
                made.asset_key, asset_partitions=[made.partition] if made.partition else None
            )
            newest = instance.fetch_materializations(wanted, limit=1).records
            last[place] = newest[0].run_id if newest else None
        if last[place] == run_id:
            return True
    return False


def _forget_run(instance: dg.DagsterInstance, run_id: str) -> None:
    instance.delete_run(run_id)
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    # With SQLite each run has a file, which Dagster does not delete.
    if shard := getattr(instance.event_log_storage, "path_for_shard", None):
        for ending in ("", "-wal", "-shm"):
            Path(f"{shard(run_id)}{ending}").unlink(missing_ok=True)


class HistoryConfig(dg.Config):
    """How Dagster's history is deleted."""

    dry_run: bool = Field(False, description="Only count what would be deleted.")


def history_job(names: LakeNames, jobs: Iterable[str], *, is_alone: bool = True) -> dg.JobDefinition:
    """Build the job that deletes the old runs of a lake from Dagster's storage.

    Args:
        jobs: names of the lake's other jobs.
        is_alone: whether every run of the code location is the lake's. Otherwise only runs of the lake's jobs are
            deleted.
    """
    name = names.name("forget_history")
    every_job = {*jobs, name}

    @dg.op(name=f"{name}_op", description="Deletes old runs of this lake from Dagster's storage.")
    def forget_op(context: dg.OpExecutionContext, config: HistoryConfig) -> None:
        done = forget_runs(
            context.instance,
            time.time(),
            jobs=every_job,
            repository=context.run.tags.get(_REPOSITORY_TAG) if is_alone else None,
            dry_run=config.dry_run,
        )
        context.add_output_metadata({"dry_run": config.dry_run, **asdict(done)})
        RunLog(context.log).info(f"{_verb(config)} {done.runs} runs{_REST if done.left else ''}")

    @dg.job(
        name=name,
        executor_def=run_executor,
        description=f"Deletes from Dagster's storage this lake's runs of {RUN_DAYS} days ago, with their events and "
        "logs, but for the last of each asset and partition. The lake itself loses nothing: ledgers and operations log "
        "keep what was done.",
    )
    def forget_job() -> None:
        forget_op()

    return forget_job


def events_job(names: LakeNames, assets: Iterable[dg.AssetsDefinition | dg.AssetSpec]) -> dg.JobDefinition:
    """Build the job that deletes what sensors and checks of a lake left in Dagster's storage.

    Args:
        assets: every asset of the lake.
    """
    keys = {key for asset in assets for key in ([asset.key] if isinstance(asset, dg.AssetSpec) else asset.keys)}
    name = names.name("forget_events")

    @dg.op(name=f"{name}_op", description="Deletes old events without a run, and old results of checks.")
    def forget_op(context: dg.OpExecutionContext, config: HistoryConfig) -> None:
        done = forget_events(context.instance, time.time(), assets=keys, dry_run=config.dry_run)
        context.add_output_metadata({"dry_run": config.dry_run, **asdict(done)})
        RunLog(context.log).info(
            f"{_verb(config)} {done.events} events without a run and {done.checks} results of checks"
            f"{_REST if done.left else ''}"
        )

    @dg.job(
        name=name,
        executor_def=run_executor,
        description=f"Deletes from Dagster's storage what this lake's sensors reported {EVENT_DAYS} days ago and its "
        f"checks found {RUN_DAYS} days ago, but for the last of each asset, partition and check. It does so by SQL in "
        "tables that are private to Dagster, so its schedule is off until you start it. The lake itself loses nothing.",
    )
    def forget_job() -> None:
        forget_op()

    return forget_job


def _verb(config: HistoryConfig) -> str:
    return "would forget" if config.dry_run else "forgot"
