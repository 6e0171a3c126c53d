"""The servers that measurements share: a local AWS, and a warm Spark server that counts its jobs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql.connect.session import SparkSession

from benchmarks.support.sampling import sampling
from tests.support.plugins.costs import cpu_seconds
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark.server import SparkServer
from tidegate.platform.testing import TestLake


@dataclass
class Spent:
    """The cost of a piece of work.

    Attributes:
        seconds: wall-clock seconds.
        cpu: CPU seconds of this process, the server and the local AWS.
        loading: wall-clock seconds of a run from step 1 (look) to the commit.
    """

    seconds: float = 0.0
    cpu: float = 0.0
    loading: float = 0.0


@dataclass
class Machine:
    """The servers of one session, in the form that `TestLake` needs.

    Attributes:
        home: folder of all state.
    """

    home: Path

    def __post_init__(self) -> None:
        self.aws = LocalAws(self.home / "aws", 0)
        self._running = ExitStack()

    @cached_property
    def spark(self) -> SparkServer:
        """The server."""
        events = self.home / "spark" / "events"
        events.mkdir(parents=True)
        conf = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
        }
        server = SparkServer(self.home / "spark", self.aws.environ, port=0, memory="4g", conf=conf)
        self._running.callback(server.stop)
        server.start(150.0)
        # All lakes share one session. It is closed here, because its clean-up at exit would retry a server that is gone
        # for ten minutes.
        session = SparkSession.builder.remote(server.remote.url).getOrCreate()
        self._running.callback(session.stop)
        return server

    def __enter__(self) -> Machine:
        self._running.callback(self.aws.stop)
        self.aws.start(60.0)
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def clients(self, endpoint: str | None = None) -> Clients:
        """Return AWS clients, of another server if an endpoint is given."""
        aws = self.aws.environ
        return Clients.connect(
            endpoint or self.aws.endpoint, REGION, key=aws["AWS_ACCESS_KEY_ID"], secret=aws["AWS_SECRET_ACCESS_KEY"]
        )

    def lake(self, name: str, tables: list[dict[str, Any]], **more: Any) -> TestLake:
        """Return a lake of its own. `more` are further sections of its lake.yaml."""
        folder = self.home / name
        folder.mkdir()
        return TestLake(self, folder, name, tables, {"discovery": False, **more})  # type: ignore[arg-type]

    def megabytes(self) -> dict[str, int]:
        """Return the memory of this process and of the Spark server, and of the server's live objects, in MB."""
        server = self.spark.process
        assert server is not None
        # The histogram of live objects follows a full collection. Its last line is the total.
        live = subprocess.run(
            ["jcmd", str(server.pid), "GC.class_histogram"], stdout=subprocess.PIPE, check=True, timeout=60
        )
        objects = int(live.stdout.split()[-1]) >> 20
        return {"client": resident(os.getpid()), "server": resident(server.pid), "server_objects": objects}

    @contextmanager
    def peak(self) -> Iterator[dict[str, int]]:
        """Measure the greatest memory during the block. Each sample is a full collection, so seconds say nothing."""
        most = self.megabytes()

        def sample() -> None:
            most.update({name: max(value, most[name]) for name, value in self.megabytes().items()})

        with sampling(sample, 0.5):
            yield most

    def jobs(self) -> int:
        """Return the number of Spark jobs that the server has started so far."""
        logs = [path for path in (self.home / "spark" / "events").rglob("*") if path.is_file()]
        return sum(path.read_bytes().count(b'"SparkListenerJobStart"') for path in logs)


@contextmanager
def spending() -> Iterator[Spent]:
    """Measure the work inside the block."""
    spent, begun, before = Spent(), time.monotonic(), cpu_seconds()
    yield spent
    spent.seconds = round(time.monotonic() - begun, 2)
    spent.cpu = round(cpu_seconds() - before, 2)


def announce(lake: TestLake, table: str, keys: list[str]) -> None:
    """Announce files to a table as intake does, so that no run has to list the prefix."""
    hints = [Hint(key, Event(f"{key}#0")) for key in keys]
    lake.lake.store.inbox.put([Manifest.create(lake.key(table), "intake", hints)])


def resident(pid: int) -> int:
    """Return the resident memory of a process in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20
