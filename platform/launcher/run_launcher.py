"""The run launcher: a run is a fork of a warm process, which saves the import of the code location.

It requires daemon, webserver and code servers on one machine with one Python and one environment, as in `tidegate dev`.
What a run does and reports is Dagster's own: the fork executes `dagster api execute_run`.
"""

from __future__ import annotations

import logging
import threading

from dagster import DagsterRun
from dagster._core.instance.ref import InstanceRef
from dagster._core.launcher import CheckRunHealthResult, DefaultRunLauncher, LaunchRunContext, WorkerStatus
from dagster._core.origin import RepositoryPythonOrigin
from dagster._core.remote_representation.code_location import GrpcServerCodeLocation
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import ConfigurableClassData
from dagster_shared.serdes import serialize_value

from tidegate.assets.runs.run_locks import RunLocks
from tidegate.platform.launcher.warm_process import Launch, NoAnswer, NotForked, WarmProcess

_log = logging.getLogger(__name__)


class ForkingRunLauncher(DefaultRunLauncher):
    """Starts runs from a warm process per code location. If that fails, Dagster's default launcher starts the run.

    A code server that was reloaded or restarted has a new id, and gets a new warm process. The old warm process ends
    after its runs. A warm process that has died is replaced at the next run.
    """

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(inst_data)
        self._warm: dict[str, tuple[str, WarmProcess | NotForked]] = {}
        self._launching = threading.Lock()

    @property
    def _locks(self) -> RunLocks:
        return RunLocks.from_root(self._instance.root_directory)

    def launch_run(self, context: LaunchRunContext) -> None:
        """Start a run."""
        try:
            self._fork(context)
        except NotForked as error:
            message = f"{error}: Dagster's default launcher starts this run, in a process that imports everything again"
            _log.warning("run %s: %s", context.dagster_run.run_id, message)
            self._instance.report_engine_event(message, context.dagster_run, cls=type(self))
            super().launch_run(context)

    def _fork(self, context: LaunchRunContext) -> None:
        run, origin = context.dagster_run, context.job_code_origin
        if context.workspace is None or run.remote_job_origin is None or origin is None:
            raise NotForked("the run does not name the origin of its code")
        name = run.remote_job_origin.location_name
        location = context.workspace.get_code_location(name)
        if not isinstance(location, GrpcServerCodeLocation):
            raise NotForked(f"no code server has the location {name}")
        ref = self._instance.get_ref()
        with self._launching:
            # The server itself is asked, because what the daemon knows of it may be outdated.
            warm = self._warm_process(name, location.client.get_server_id(), origin.repository_origin, ref)
            launch = Launch(run.run_id, serialize_value(ExecuteRunArgs(origin, run.run_id, ref)), self._locks.folder)
            try:
                warm.fork(launch)
            except NoAnswer as error:
                # The fork may exist without knowing that the launcher no longer waits: the lock decides which of the
                # two gets the run.
                if self._locks.give_up(run.run_id):
                    raise
                _log.warning("run %s: %s, but it has a process, which continues", run.run_id, error)

    def _warm_process(self, name: str, server: str, origin: RepositoryPythonOrigin, ref: InstanceRef) -> WarmProcess:
        known, warm = self._warm.get(name, ("", None))
        if isinstance(warm, NotForked) and known == server:
            raise warm  # it did not start with this code before, and would not now
        if isinstance(warm, WarmProcess):
            if known == server and warm.alive:
                return warm
            if known == server:
                _log.warning("the warm process of the code location %s has died: starting a new one", name)
            warm.close()
        try:
            fresh = WarmProcess(origin, ref)
        except NotForked as error:
            self._warm[name] = (server, error)
            raise
        self._warm[name] = (server, fresh)
        return fresh

    def terminate(self, run_id: str) -> bool:
        """Interrupt a run. Returns whether that was possible."""
        if not self.has_instance or self._locks.pid(run_id) is None:
            return bool(super().terminate(run_id))  # type: ignore[no-untyped-call]
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        return self._locks.interrupt(run_id)

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Whether Dagster's monitoring may ask if a run is alive."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Return whether the process of a run died. A run that was started in another way counts as healthy."""
        if self._locks.has_died(run.run_id):
            return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "its process is gone")
        return CheckRunHealthResult(WorkerStatus.RUNNING)

    def dispose(self) -> None:
        """Let the warm processes end after their runs have ended."""
        with self._launching:
            for _, warm in self._warm.values():
                if isinstance(warm, WarmProcess):
                    warm.close()
            self._warm.clear()
