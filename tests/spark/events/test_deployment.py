"""A deployment by the commands of docs/operate/aws.md: Dagster's daemon, launcher and queue, on PostgreSQL.

Processes die as they die with a machine. Each row is there once, and no table waits for Dagster's timeouts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from tests.support.plugins.processes import eventually
from tests.support.servers.postgres import Postgres
from tidegate.assets.keys import BRONZE_JOB
from tidegate.assets.runs.run_locks import RunLocks
from tidegate.platform.local.process.guard import _descendants
from tidegate.platform.local.process.process import Process, spawn
from tidegate.platform.local.stack_file import client_environ
from tidegate.platform.testing import TestLake

pytestmark = pytest.mark.timeout(600)

PAGE = (Path(__file__).parents[3] / "docs/operate/aws.md").read_text(encoding="utf-8")
CONFIGURE = "tidegate dagster-yaml --postgres"
DAEMON = "dagster-daemon run -m tidegate.platform.definitions"
#: Seconds for everything after the restart, on a busy machine. Dagster's own timeout is an hour.
WITHIN = 400


def words(command: str) -> list[str]:
    """Return a command of the page, as it is installed in this environment."""
    assert command in PAGE
    name, *arguments = command.split()
    return [str(Path(sys.executable).with_name(name)), *arguments]


class Deployment:
    """Dagster's daemon for a lake, with a folder and a database of its own."""

    def __init__(self, lake: TestLake, postgres: Postgres, folder: Path) -> None:
        self._home, self._folder = folder / "dagster", folder
        self._home.mkdir()
        named = {"HOST": postgres.host, "DB": postgres.user, "USERNAME": postgres.user, "PASSWORD": postgres.password}
        database = {f"DAGSTER_PG_{name}": value for name, value in named.items()}
        assert all(f"`{name}`" in PAGE for name in database)
        self.environ = client_environ(
            {**lake.stack.environ, **database, "DAGSTER_HOME": str(self._home), "TIDEGATE_LAKE": str(lake.path)}
        )
        printed = subprocess.run(words(CONFIGURE), env=self.environ, stdout=subprocess.PIPE, timeout=60, check=True)
        (self._home / "dagster.yaml").write_bytes(printed.stdout)
        self._daemon: Process | None = None

    @property
    def instance(self) -> dg.DagsterInstance:
        return dg.DagsterInstance.get()

    @property
    def daemon(self) -> Process:
        assert self._daemon
        return self._daemon

    @property
    def locks(self) -> RunLocks:
        return RunLocks.from_root(str(self._home))

    def start(self) -> None:
        self._daemon = spawn(
            "daemon", words(DAEMON), log=self._folder / "daemon.log", env=self.environ, cwd=self._folder
        )

    def stop(self) -> None:
        if self._daemon:
            self._daemon.stop(2.0)

    def kill(self) -> None:
        """Kill the run, the code server and the daemon, as the end of a machine does. None can report anything."""
        for pid in [*_descendants(self.daemon.pid), self.daemon.pid]:
            os.kill(pid, signal.SIGKILL)
        self.daemon.wait(60)

    def find_working(self, instance: dg.DagsterInstance) -> str:
        """Wait until a run of bronze is at work. Returns its id."""
        found: list[str] = []

        def look() -> bool:
            runs = instance.get_runs(dg.RunsFilter(job_name=BRONZE_JOB, statuses=[dg.DagsterRunStatus.STARTED]))
            found[:] = [run.run_id for run in runs if self.locks.is_held(run.run_id)]
            return bool(found)

        assert eventually(look, 200), self.daemon.tail()
        return found[0]


@pytest.fixture
def lake(tidegate_lake: Callable[..., TestLake]) -> TestLake:
    silver = {"keys": ["id"], "order": "v", "every": 5}
    pace = {"intake": {"seconds": 10, "threads": 2, "every": 3}}
    return tidegate_lake([{"name": "sold", "prefix": "sold/", "silver": silver}], discovery=False, **pace)


@pytest.fixture
def deployment(lake: TestLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    with Postgres() as postgres:
        made = Deployment(lake, postgres, tmp_path)
        for name, value in made.environ.items():
            monkeypatch.setenv(name, value)
        made.start()
        try:
            yield made
        finally:
            made.stop()


def land(lake: TestLake, kit: Any, numbers: Sequence[int]) -> None:
    for number in numbers:
        lake.put(f"sold/{number}.json", kit.lines({"id": number, "v": 1}))


def ids(lake: TestLake, name: str) -> list[int]:
    return sorted(row.id for row in lake.sql(f"SELECT id FROM {name}"))


def why_failed(instance: dg.DagsterInstance, run_id: str) -> str:
    (failed,) = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.RUN_FAILURE).records
    event = failed.event_log_entry.dagster_event
    assert event
    return str(event.message)


def test_all_rows_are_there_once_after_the_daemon_its_code_server_and_its_run_died(
    lake: TestLake, deployment: Deployment, kit: Any
) -> None:
    merged = 0

    def has_all_rows() -> bool:
        nonlocal merged
        wanted = dg.RunsFilter(job_name="silver_sold_job", statuses=[dg.DagsterRunStatus.SUCCESS])
        before, merged = merged, len(instance.get_runs(wanted))
        return merged > before and ids(lake, "silver.sold") == list(range(20))

    with deployment.instance as instance:
        land(lake, kit, range(3))
        died = deployment.find_working(instance)
        land(lake, kit, range(3, 20))
        deployment.kill()
        deployment.start()
        assert eventually(has_all_rows, WITHIN), deployment.daemon.tail(60)
        assert why_failed(instance, died).startswith("the process of this run is gone")
    assert ids(lake, "bronze.sold") == list(range(20))
