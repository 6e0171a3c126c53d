"""The whole local platform as one context manager."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import ExitStack
from pathlib import Path

from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.config.commits import Commits, log_store_class
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.disk import require_space
from tidegate.platform.lake.settings import LAKE, Settings
from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.extras import require_extra
from tidegate.platform.local.process.ports import bypass_proxy, require_free
from tidegate.platform.local.process.process import RunningServer
from tidegate.platform.local.process.signals import wait_for_signal
from tidegate.platform.local.process.supervisor import Supervisor
from tidegate.platform.local.provision import Clients, provision
from tidegate.platform.local.spark.jars import jars_folder
from tidegate.platform.local.spark.java import require_java
from tidegate.platform.local.spark.server import SparkServer
from tidegate.platform.local.stack_file import StackInfo, StackLock, client_environ, remove_stack, write_stack

_STARTED_WITHIN = 180.0


class LocalStack(RunningServer):
    """AWS with a lake's buckets and queues, and a supervised Spark Connect server. All state is in one folder.

    Ports are chosen in the constructor, so `environ` can be used before the start. The caller handles signals: leave
    the `with` block, or use `run_until_signal`. If the caller is killed by SIGKILL, the servers end too.

    Args:
        home: folder of all state; created if it is missing. Delete it only as a whole.
        lake: the `lake.yaml`, whose buckets and first queue are created; None creates `wanted`.
        wanted: what is created when there is no `lake`.
        aws_port: port of the local AWS, 0 for a free one.
        spark_port: port of the Spark Connect server, 0 for a free one.
        on_ready: called with `settings` after each start of the Spark server, restarts included. The AWS resources
            exist by then. The call must end by itself if the server ends meanwhile.
        commits: how Delta commits are coordinated when there is no `lake`, whose own value counts.
        own_catalog: whether our procedures are among the jars.
        spark_conf: additional settings of the Spark server.
    """

    def __init__(
        self,
        home: Path,
        *,
        lake: Path | None = None,
        wanted: WantedResources | None = None,
        aws_port: int = 4566,
        spark_port: int = 15002,
        on_ready: Callable[[Settings], None] | None = None,
        commits: Commits = "dynamodb",
        own_catalog: bool = True,
        spark_conf: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home.resolve()
        self.lake = None if lake is None else lake.resolve()
        self.wanted = wanted or WantedResources()
        logs = self.home / "logs"
        self.aws = LocalAws(self.home / "aws", aws_port, log=logs / "aws.log")
        self._on_ready = on_ready
        self._aws_ready: Future[None] | None = None
        self.spark = SparkServer(
            self.home / "spark",
            self.aws.environ,
            port=spark_port,
            on_ready=self._spark_ready,
            log_store=log_store_class(commits),
            own_catalog=own_catalog,
            conf=spark_conf,
            log=logs / "spark.log",
        )
        self.supervisor: Supervisor | None = None
        self._lock = StackLock(self.home)
        self._started = False

    @property
    def queue_url(self) -> str:
        """The URL of the event queue; empty if there is none."""
        return self.aws.queue_url(self.wanted.event_queue.name) if self.wanted.event_queue else ""

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables of a client of this platform."""
        found = self.aws.environ | self.spark.remote.environ
        found |= {
            "TIDEGATE_QUEUE_URL": self.queue_url,
            "DAGSTER_HOME": str(self.home / "dagster"),
        }
        return found if self.lake is None else found | {LAKE: str(self.lake)}

    @property
    def settings(self) -> Settings:
        """The settings of a client in this process."""
        return Settings.from_environ(client_environ(self.environ))

    def clients(self) -> Clients:
        """Return AWS clients of this platform."""
        aws = self.aws.environ
        return Clients.connect(
            self.aws.endpoint, REGION, key=aws["AWS_ACCESS_KEY_ID"], secret=aws["AWS_SECRET_ACCESS_KEY"]
        )

    def start(self) -> None:
        """Start AWS and Spark in parallel, then create the resources, then call `on_ready`.

        Raises:
            UnavailableError: the home or a port is in use, packages, jars or Java are missing, or a server was not
                ready in time.
            LakeConfigError: the `lake.yaml` is wrong.
        """
        require_extra("local", "ministack")
        if self.lake is not None:
            config = self.settings.config()
            self.wanted = WantedResources.from_config(config)
            self.spark.log_store = log_store_class(config.lake.commits)
        jars_folder()
        require_java()
        require_space(self.home)
        bypass_proxy()
        self._lock.acquire()
        try:
            require_free(self.aws.port, "local AWS", "--aws-port")
            require_free(self.spark.port, "Spark Connect server", "--spark-port")
            (self.home / "dagster").mkdir(exist_ok=True)
            self._start_servers()
            self.supervisor = Supervisor(self.spark, on_restart=self._describe)
            self.supervisor.start()
            self._started = True
            self._describe()
        except BaseException:
            self.stop()
            raise

    def _start_servers(self) -> None:
        self._aws_ready = _run_in_background(self._start_aws)
        futures = [self._aws_ready, _run_in_background(self.spark.start)]
        try:
            done, _ = wait(futures, _STARTED_WITHIN, FIRST_EXCEPTION)
            for future in sorted(done, key=futures.index):
                future.result()
            if len(done) < len(futures):
                raise UnavailableError(f"the local platform was not ready within {_STARTED_WITHIN:.0f} s")
        except BaseException:
            # A server that is still starting notices that its process is gone. It may not even have started the process
            # yet.
            end = time.monotonic() + 30.0
            while not all(future.done() for future in futures) and time.monotonic() < end:
                self._stop_servers()
                wait(futures, 0.2)
            raise

    def _start_aws(self) -> None:
        self.aws.start()
        provision(self.clients(), self.wanted)

    def _spark_ready(self, remote: SparkRemote) -> None:
        assert self._aws_ready is not None
        self._aws_ready.result()
        if self._on_ready is not None:
            self._on_ready(self.settings)

    def _describe(self) -> None:
        processes = {"aws": self.aws.process, "spark": self.spark.process}
        write_stack(
            self.home,
            StackInfo(
                pid=os.getpid(),
                pids={name: process.pid for name, process in processes.items() if process},
                guards={name: process.guard_pid for name, process in processes.items() if process},
                ports={"aws": self.aws.port, "spark": self.spark.port},
                environ=self.environ,
            ),
        )

    def check(self) -> None:
        """Raise UnavailableError if a part has died and is not restarted."""
        if self.supervisor is not None and self.supervisor.failure is not None:
            raise self.supervisor.failure
        if self._started and not self.aws.alive:
            assert self.aws.process is not None
            raise UnavailableError(
                f"the local AWS died: stop and start the local platform; {self.aws.process.log_hint}"
            )

    def run_until_signal(self, tick: Callable[[], None] | None = None) -> int:
        """Wait, in the main thread, until SIGINT or SIGTERM.

        Args:
            tick: called about once a second; an error of it ends the wait.

        Returns:
            The number of the signal.

        Raises:
            UnavailableError: a part died meanwhile and is not restarted.
        """

        def look() -> None:
            self.check()
            if tick is not None:
                tick()

        return wait_for_signal(look)

    def _stop_servers(self) -> None:
        with ExitStack() as each:  # stops both, even if one raises
            each.callback(self.aws.stop)
            each.callback(self.spark.stop)

    def stop(self) -> None:
        """Stop everything. The state stays in the home. May be called again."""
        with ExitStack() as each:
            each.callback(self._lock.release)
            each.callback(self._forget)
            each.callback(self._stop_servers)
            if self.supervisor is not None:
                each.callback(self.supervisor.stop)
        self.supervisor = None

    def _forget(self) -> None:
        if self._started:
            remove_stack(self.home)
            self._started = False


def _run_in_background(action: Callable[[], None]) -> Future[None]:
    # No ThreadPoolExecutor, because Python waits for its threads at exit, without a deadline.
    future: Future[None] = Future()

    def run() -> None:
        try:
            action()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(None)

    threading.Thread(target=run, daemon=True).start()
    return future
