"""A standalone cluster of Spark on this machine, whose workers share no files with each other and with the driver."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.servers.client import DEADLINE, wait_until
from tidegate.platform.local.process.guard import _descendants
from tidegate.platform.local.process.ports import free_port
from tidegate.platform.local.process.process import Process, RunningServer, spawn
from tidegate.platform.local.spark.jars import jars_folder
from tidegate.platform.local.spark.server import server_environ, spark_home

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR = "CoarseGrainedExecutorBackend"
#: A worker sees its own jars where the driver has others, and an empty folder in place of the home of the driver.
_ALONE = 'mount --bind "$1" "$2" && mount -t tmpfs none "$3" && cd "$4" && shift 4 && exec "$@"'


class Cluster(RunningServer):
    """A master and two workers with a core each.

    Attributes:
        driver: folder of the driver.

    Args:
        folder: of their files.
        driver: folder of the driver, which no worker sees.
        environ: variables of the workers: the credentials of their machines.
    """

    def __init__(self, folder: Path, driver: Path, environ: Mapping[str, str]) -> None:
        self.port = free_port()
        self.driver = driver
        self._folder, self._environ = folder, dict(environ)
        self._master: Process | None = None
        self._workers: list[Process] = []

    @property
    def master(self) -> str:
        """The address for `--master`."""
        return f"spark://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start all of them, and wait until the workers are registered."""
        self.driver.mkdir(parents=True, exist_ok=True)
        self._master = self._spawn("master", [], [_MASTER, "--port", str(self.port)])
        for number in range(2):
            own = self._folder / f"worker-{number}"
            jars = own / "jars"
            shutil.copytree(jars_folder(), jars, ignore=shutil.ignore_patterns("*.jsa", ".*"))
            places = [str(jars), str(jars_folder()), str(self.driver), str(own)]
            command = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount", "sh", "-ec", _ALONE]
            given = ["--cores", "1", "--memory", "1g", "--work-dir", str(own / "work"), self.master]
            self._workers.append(self._spawn(f"worker-{number}", [*command, "sh", *places], [_WORKER, *given]))
        log = self._folder / "master.log"
        wait_until(lambda: log.read_text().count("Registering worker") == 2, "both workers to register")

    def _spawn(self, name: str, before: list[str], arguments: list[str]) -> Process:
        spark, temp = spark_home(), self._folder / f"{name}-tmp"
        temp.mkdir(parents=True)
        environ = server_environ(os.environ, spark, temp, foreign=("AWS_", "TIDEGATE_")) | self._environ
        command = [*before, str(spark / "bin" / "spark-class"), *arguments, "--host", "127.0.0.1", "--webui-port", "0"]
        # Another zone than that of the driver, as other machines may have.
        more = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "TZ": "Asia/Kolkata"}
        more |= {"SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
        return spawn(name, command, log=self._folder / f"{name}.log", env=environ | more, cwd=self._folder)

    def executors(self) -> set[int]:
        """Return the process ids of the executors."""
        found = set()
        for worker in self._workers:
            for pid in _descendants(worker.pid):
                with suppress(OSError):
                    if _EXECUTOR in Path(f"/proc/{pid}/cmdline").read_text():
                        found.add(pid)
        return found

    def kill_executors(self) -> None:
        """Kill all executors, and wait until the workers have started others."""
        killed = self.executors()
        assert len(killed) == 2
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(self.executors() - killed) == 2, "other executors", DEADLINE)

    def output(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(process.tail(20) for process in (self._master, *self._workers) if process)

    def stop(self) -> None:
        """End all of them."""
        for process in (*self._workers, self._master):
            if process is not None:
                process.stop(5.0)
