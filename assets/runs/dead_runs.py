"""Ends runs whose process is gone, so that no table waits for them until Dagster's timeouts end them.

Dagster's own launcher does not know whether a run is alive once its code server is gone. What is known here comes from
this machine only: a run that may live on another one is left to Dagster's timeouts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import dagster as dg

from tidegate.assets.runs.held_tables import AT_WORK
from tidegate.assets.runs.run_locks import RunLocks

#: Seconds that a process has to begin a run which an earlier daemon launched. On a busy machine it imports for so long.
#: A process that comes later finds that its run has ended, and does nothing.
BEGIN_WITHIN = 60.0
_DIED = "the process of this run is gone, and nothing reported its end. What it left is finished by the next run"
_NOT_BEGUN = "the Dagster daemon or the code server that launched this run is gone, and no process began it"


class DeadRuns:
    """Looks for dead runs, at each tick of a sensor.

    A run is ended at the second look that finds it dead: where its code server lives, it reports the run at once, with
    the reason.

    Args:
        jobs: names of the jobs whose launches are looked at. Other jobs have other times to begin.
        clock: epoch seconds.
        timer: seconds that no setting of a clock changes.
    """

    def __init__(
        self,
        jobs: Collection[str],
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._jobs, self._timer = frozenset(jobs), timer
        self._free: set[str] = set()
        self._daemon: str | None = None
        #: Launches before this time are not of this daemon and this code server, which now loads its definitions.
        self._since = clock()
        self._looked: float | None = None
        self._awaits_launches = True

    def end(self, instance: dg.DagsterInstance, location: str | None) -> list[str]:
        """End the runs that are dead. Returns a line for each.

        Args:
            location: name of the code location in whose code server this process is.
        """
        locks = RunLocks.from_root(instance.root_directory)
        return self._end_died(instance, locks) + self._end_not_begun(instance, locks, location)

    def _end_died(self, instance: dg.DagsterInstance, locks: RunLocks) -> list[str]:
        free = locks.find_free()
        seen = sorted(self._free & free.keys())
        self._free = set(free)
        if not seen:
            return []
        # Their locks were free before this is asked, so they cannot end by themselves any more.
        at_work = {run.run_id: run for run in instance.get_runs(dg.RunsFilter(run_ids=seen, statuses=AT_WORK))}
        ended = [_end(instance, run, _DIED) for run_id, run in at_work.items() if free[run_id]]
        for run_id in seen:
            if free[run_id] or run_id not in at_work:
                with suppress(OSError):
                    locks.forget(run_id)
        return ended

    def _end_not_begun(self, instance: dg.DagsterInstance, locks: RunLocks, location: str | None) -> list[str]:
        """End the runs that were launched before this daemon, or this process, began, and that no process began.

        Only code servers of this location begin its runs with Dagster's own launcher, and with Tidegate's.
        """
        beat = instance.get_daemon_heartbeats().get("SENSOR")
        daemon, now = beat.daemon_id if beat else None, self._timer()
        if self._looked is None:
            self._daemon, self._looked = daemon, now
        elif daemon != self._daemon:
            # Its first heartbeat precedes its first launch.
            self._since = beat.timestamp if beat else self._since
            self._daemon, self._looked, self._awaits_launches = daemon, now, True
        if not self._awaits_launches or now < self._looked + BEGIN_WITHIN:
            return []
        launched: Sequence[dg.DagsterRun] = ()
        if location is not None and _begins_in_code_server(instance):
            before = datetime.fromtimestamp(self._since, UTC)
            launched = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTING], updated_before=before))
        self._awaits_launches = False
        return [
            _end(instance, run, _NOT_BEGUN)
            for run in launched
            if run.job_name in self._jobs
            and run.remote_job_origin is not None
            and run.remote_job_origin.location_name == location
            and locks.end(run.run_id)
        ]


def _begins_in_code_server(instance: dg.DagsterInstance) -> bool:
    """Return whether runs begin on the machine of their code server. Those of other launchers may begin anywhere."""
    # Dagster loads the launcher when it is asked for, and its package may be only where the daemon is.
    with suppress(Exception):
        launcher = type(instance.run_launcher)
        return issubclass(launcher, dg.DefaultRunLauncher) and launcher.__module__.startswith(("dagster.", "tidegate."))
    return False


def _end(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> str:
    if run.status is dg.DagsterRunStatus.CANCELING:
        instance.report_run_canceled(run, why)
    else:
        instance.report_run_failed(run, why)
    return f"ended run {run.run_id} of {run.job_name}: {why}"
