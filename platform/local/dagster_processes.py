"""Dagster as processes: one code server, the daemon, and optionally the UI."""

from __future__ import annotations

import http.client
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.code_server import is_code_loaded
from tidegate.platform.local.extras import require_extra
from tidegate.platform.local.instance_config import instance_config
from tidegate.platform.local.process.ports import LOOPBACK, free_port, require_free
from tidegate.platform.local.process.process import Process, spawn

if TYPE_CHECKING:
    from dagster import DagsterInstance

MODULE = "tidegate.platform.definitions"
_DAEMONS = ("SENSOR", "SCHEDULER", "QUEUED_RUN_COORDINATOR")


class DagsterProcesses:
    """A Dagster deployment on one machine, with its instance in `<home>/dagster`.

    Runs are children of the code server, so they end with it.

    Args:
        home: folder of the local platform.
        env: the whole environment of the processes (DAGSTER_HOME is added).
        ui_port: port of the UI on loopback, 0 for a free one, None for no UI.
        module: Python module with the definitions.
        extra_workspace: a workspace file with the user's own code locations; Dagster reads it in addition to ours.
    """

    def __init__(
        self,
        home: Path,
        env: Mapping[str, str],
        ui_port: int | None = None,
        *,
        module: str = MODULE,
        extra_workspace: Path | None = None,
    ) -> None:
        self.home = home.resolve() / "dagster"
        self.ui_port = free_port() if ui_port == 0 else ui_port
        self.code_port = free_port()
        self.module = module
        self._extra_workspace = extra_workspace.resolve() if extra_workspace else None
        self.processes: dict[str, Process] = {}
        # Not in <DAGSTER_HOME>/logs, because the telemetry of Dagster empties that folder, even when it is off.
        self._logs = home.resolve() / "logs"
        self._env = dict(env) | {"DAGSTER_HOME": str(self.home), "PYTHONUNBUFFERED": "1"}

    @property
    def ui_url(self) -> str | None:
        """The URL of the UI; None when there is no UI."""
        return None if self.ui_port is None else f"http://{LOOPBACK}:{self.ui_port}"

    @property
    def workspace(self) -> Path:
        """The workspace file that points at the code server."""
        return self.home / "workspace.yaml"

    def _workspaces(self) -> list[str]:
        return [word for file in (self.workspace, self._extra_workspace) if file for word in ("-w", str(file))]

    def instance(self) -> DagsterInstance:
        """Return the instance, which the processes create. The caller must close it."""
        from dagster import DagsterInstance

        return DagsterInstance.from_config(str(self.home))

    def check(self) -> None:
        """Raise UnavailableError if a process has died."""
        for process in self.processes.values():
            process.require_alive()

    def require_startable(self) -> None:
        """Check what a start needs, so that nobody waits for other servers before it fails.

        Raises:
            UnavailableError: the UI's port is taken, or a workspace file or package is missing.
        """
        if self._extra_workspace is not None and not self._extra_workspace.is_file():
            raise UnavailableError(
                f"there is no file {self._extra_workspace}: --workspace must name a workspace.yaml of Dagster"
            )
        if self.ui_port is not None:
            require_extra("local", "dagster_webserver")
            require_free(self.ui_port, "Dagster UI", "--ui-port")

    def load_code(self) -> None:
        """Start the code server, which loads the definitions. `start` waits for it, and starts the others.

        Raises:
            UnavailableError: the UI's port is taken, or a workspace file or package is missing.
        """
        self.require_startable()
        self._prepare()
        self._spawn(
            "code server",
            "-m", "dagster", "code-server", "start", "-m", self.module,
            "-h", LOOPBACK, "-p", str(self.code_port),
            "--location-name", "tidegate", "--use-python-environment-entry-point",
            "--log-level", "warning",
        )  # fmt: skip

    def start(self, deadline: float = 90.0) -> None:
        """Start all and wait until each does its work.

        Args:
            deadline: seconds for all together.

        Raises:
            UnavailableError: the UI's port is taken, the definitions do not load, or a process did not get
                ready; nothing is left running.
        """
        end = time.monotonic() + deadline
        try:
            loading = self.processes.get("code server")
            if loading is None or not loading.alive:
                self.load_code()
            self._wait("code server", lambda: is_code_loaded(self.code_port, self.module), end)
            began = time.time()
            self._spawn("daemon", "-m", "tidegate.platform.local.dagster_daemon", "run", *self._workspaces())
            if self.ui_port is not None:
                self._spawn(
                    "UI",
                    "-m", "dagster_webserver", "-h", LOOPBACK, "-p", str(self.ui_port),
                    *self._workspaces(), "--suppress-warnings",
                )  # fmt: skip
            self._wait("daemon", lambda: self._has_daemon_heartbeat(began), end)
            if self.ui_port is not None:
                self._wait("UI", self._is_ui_answering, end)
        except BaseException:
            self.stop()
            raise

    def _prepare(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "dagster.yaml").write_text(instance_config(fork=True), encoding="utf-8")
        self.workspace.write_text(
            f"load_from:\n  - grpc_server: {{host: {LOOPBACK}, port: {self.code_port}, location_name: tidegate}}\n"
        )
        # Otherwise the processes would create the same SQLite files at the same moment, and one of them would fail.
        with self.instance() as instance:
            instance.get_runs(limit=1)
            instance.get_daemon_heartbeats()
            instance.all_instigator_state()
            instance.get_dynamic_partitions("none")

    def _spawn(self, name: str, *arguments: str) -> None:
        self.processes[name] = spawn(
            f"Dagster {name}",
            [sys.executable, *arguments],
            log=self._logs / f"dagster-{name.lower().replace(' ', '-')}.log",
            env=self._env,
            # Python and Dagster both import from the working directory, so it must not be the user's. The option -P
            # does not help: Dagster drops the first folder of the path, whichever it is.
            cwd=self.home,
        )

    def _wait(self, name: str, ready: Callable[[], bool], end: float) -> None:
        process = self.processes[name]
        while time.monotonic() < end:
            if not process.alive:
                raise UnavailableError(
                    f"the Dagster {name} ended at start with exit code {process.returncode}; {process.log_hint}"
                )
            if ready():
                return
            time.sleep(0.2)
        raise UnavailableError(f"the Dagster {name} was not ready in time; {process.log_hint}")

    def _has_daemon_heartbeat(self, since: float) -> bool:
        with self.instance() as instance:
            beats = instance.get_daemon_heartbeats()
        return all(kind in beats and beats[kind].timestamp >= since for kind in _DAEMONS)

    def _is_ui_answering(self) -> bool:
        assert self.ui_port is not None
        connection = http.client.HTTPConnection(LOOPBACK, self.ui_port, timeout=2.0)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/server_info")
            return connection.getresponse().status == 200
        return False

    def stop(self, deadline: float = 10.0) -> None:
        """End all processes, including active runs. The daemon ends first, so that it launches no further runs.

        Args:
            deadline: seconds that each process has before it is killed.
        """
        for name in ("daemon", "UI", "code server"):
            if name in self.processes:
                self.processes[name].stop(deadline)
