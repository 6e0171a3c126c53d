"""The warm process. It has imported the code location, and forks one child per run.

It runs as `python -m tidegate.platform.launcher.fork_server FD`. FD is a socket to the launcher. It delivers the
origin of the code location once, and then runs. The process has one Python thread and no open connections, because
neither would survive a fork; with more threads it refuses to fork. Imported libraries may have threads that handle
forks (OpenBLAS, jemalloc). If there are more of these than after the imports, the process refuses too. When the
launcher is gone, the process waits for its runs and ends.
"""

from __future__ import annotations

import importlib
import multiprocessing
import signal
import socket
import sys
import threading
import traceback
from collections import Counter
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from dagster import DagsterInstance
from dagster._cli.api import api_cli
from dagster._core.instance.ref import InstanceRef
from dagster._core.origin import RepositoryPythonOrigin
from dagster._grpc.types import ExecuteRunArgs
from dagster._utils import get_run_crash_explanation
from dagster._utils.hosted_user_process import recon_repository_from_origin
from dagster_shared.serdes import deserialize_value

from tidegate.assets.runs.run_locks import RunLocks
from tidegate.platform.lake.aws.clients import parse_descriptions
from tidegate.platform.lake.parquet.footers import keep_spare
from tidegate.platform.launcher.warm_process import Launch

_FORK = multiprocessing.get_context("fork")
#: Modules that a run imports late. They are imported here in advance.
_LATER = (
    "boto3.s3.inject",
    "dagster._core.execution.plan.active",
    "dagster._core.executor.in_process",
    "dagster._core.instance.factory",
    "dagster._core.storage.migration",
    "dagster._core.storage.root",
    "pyspark.sql.connect.session",
    "upath.implementations.local",
)


class ForkServer:
    """Forks runs, and reports crashed runs to Dagster.

    Args:
        connection: the connection to the launcher.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._runs: dict[int, tuple[BaseProcess, Launch]] = {}
        self._undertakers: dict[int, BaseProcess] = {}
        self._imported = _library_threads()

    def serve(self) -> None:
        """Serve until the launcher is gone and all runs have ended."""
        open_ = True
        while open_ or self._runs or self._undertakers:
            ready = wait([*self._runs, *self._undertakers, *([self._connection] if open_ else [])])
            for descriptor in ready:
                if not isinstance(descriptor, int):
                    continue
                if undertaker := self._undertakers.pop(descriptor, None):
                    undertaker.join()
                    undertaker.close()
                else:
                    self._finish_launch(*self._runs.pop(descriptor))
            if self._connection in ready:
                try:
                    launch = self._connection.recv()
                except (EOFError, OSError):
                    open_ = False
                    continue
                self._connection.send(self._launch(launch))

    def _launch(self, launch: Launch) -> int | str:
        if threading.active_count() != 1:
            names = ", ".join(thread.name for thread in threading.enumerate()[1:])
            return f"the warm process has other threads ({names}) and cannot be forked"
        if new := _library_threads() - self._imported:
            return f"a library started threads in the warm process ({', '.join(sorted(new))}), and it cannot be forked"
        process = _FORK.Process(target=_run, args=(self._connection, launch), name=f"run {launch.run_id}")
        process.start()
        self._runs[process.sentinel] = (process, launch)
        assert process.pid is not None
        return process.pid

    def _finish_launch(self, process: BaseProcess, launch: Launch) -> None:
        process.join()
        if process.exitcode:
            # In a separate process, because this one must neither open the instance nor wait for its database.
            undertaker = _FORK.Process(target=_report_crash, args=(launch, process.exitcode))
            undertaker.start()
            self._undertakers[undertaker.sentinel] = undertaker
        process.close()


def _library_threads() -> Counter[str]:
    """Count the threads that Python does not know, by name. Empty if the kernel does not list them."""
    found: Counter[str] = Counter()
    with suppress(FileNotFoundError):
        for task in Path("/proc/self/task").iterdir():
            found[(task / "comm").read_text(encoding="utf-8", errors="replace").strip()] += 1
    # jemalloc starts its threads when it needs them, and stops them for a fork.
    return Counter({name: number for name, number in found.items() if not name.startswith("jemalloc")})


def _run(connection: Connection, launch: Launch) -> None:
    connection.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    keep_spare()
    locks = RunLocks(launch.locks)
    if not locks.take(launch.run_id):
        return  # the launcher took the run back, and starts it in another way
    locks.interrupt_when_asked(launch.run_id)
    api_cli.main(["execute_run", launch.arguments], prog_name="dagster api", standalone_mode=False)


def _report_crash(launch: Launch, exit_code: int) -> None:
    """Report a run whose process died, as Dagster's code server does."""
    ref = deserialize_value(launch.arguments, ExecuteRunArgs).instance_ref
    assert ref is not None
    with DagsterInstance.from_ref(ref) as instance:
        run = instance.get_run_by_id(launch.run_id)
        if run is not None and not run.is_finished:
            message = get_run_crash_explanation(f"Run execution process for {run.run_id}", exit_code)
            instance.report_engine_event(message, run, cls=ForkServer)
            instance.report_run_failed(run)
    RunLocks(launch.locks).forget(launch.run_id)


def _import_instance(ref: InstanceRef) -> None:
    for data in (ref.run_storage_data, ref.event_storage_data, ref.schedule_storage_data, ref.compute_logs_data):
        if data is not None:
            importlib.import_module(data.module_name)


def _main(descriptor: int) -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C in a terminal is for the launcher; runs have their own handler
    with Connection(socket.socket(fileno=descriptor).detach()) as connection:
        origin, ref = connection.recv()
        try:
            recon_repository_from_origin(deserialize_value(origin, RepositoryPythonOrigin)).get_definition()
            _import_instance(deserialize_value(ref, InstanceRef))
            for name in _LATER:
                with suppress(ImportError):  # in another version of Dagster the run imports what it needs
                    importlib.import_module(name)
            parse_descriptions()
        except Exception:
            traceback.print_exc()
            sys.exit("the warm process cannot load the code location")
        connection.send(threading.active_count())
        ForkServer(connection).serve()


if __name__ == "__main__":
    _main(int(sys.argv[1]))
