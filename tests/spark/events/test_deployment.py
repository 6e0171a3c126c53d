"""A deployment by the commands of docs/operate/aws.md: Dagster's daemon, launcher and queue, on PostgreSQL.

Processes die as they die with a machine. Each row is there once, and no table waits for Dagster's timeouts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.errors import AnalysisException

from tests.support.plugins.processes import eventually
from tests.support.servers.postgres import Postgres
from tidegate.assets.keys import BRONZE_JOB
from tidegate.assets.runs.run_locks import RunLocks
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.local.process.guard import _descendants
from tidegate.platform.local.process.process import Process, spawn
from tidegate.platform.local.stack_file import client_environ
from tidegate.platform.testing import TestLake

pytestmark = pytest.mark.timeout(600)

PAGE = (Path(__file__).parents[3] / "docs/operate/aws.md").read_text(encoding="utf-8")
CONFIGURE = "tidegate dagster-yaml --postgres"
DAEMON = "dagster-daemon run -m tidegate.platform.definitions"
#: Seconds within which a table goes on after its run died. Dagster's own timeouts are 180 seconds and an hour.
GOES_ON_WITHIN = 120


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
        return RunLocks.of_instance(str(self._home))

    def start(self) -> None:
        self._daemon = spawn(
            "daemon", words(DAEMON), log=self._folder / "daemon.log", env=self.environ, cwd=self._folder
        )

    def stop(self) -> None:
        if self._daemon:
            self._daemon.stop(2.0)

    def wait_for(self, state: dg.DagsterRunStatus, instance: dg.DagsterInstance) -> str:
        """Wait until a run of bronze has a status, and its lock if it works. Returns its id."""
        found: list[str] = []

        def look() -> bool:
            runs = instance.get_runs(dg.RunsFilter(job_name=BRONZE_JOB, statuses=[state]))
            starts = state is dg.DagsterRunStatus.STARTING
            found[:] = [run.run_id for run in runs if starts or self.locks.is_held(run.run_id)]
            return bool(found)

        assert eventually(look, 60), self.daemon.tail()
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


def wait_for_rows(lake: TestLake, name: str, numbers: Sequence[int], deadline: float, deployment: Deployment) -> None:
    """Wait until a table has these rows, each once."""
    wanted, end = sorted(numbers), time.monotonic() + deadline
    while (found := rows(lake, name)) != wanted:
        assert time.monotonic() < end, f"{name}: {found}\n{deployment.daemon.tail(60)}"
        assert len(found) <= len(set(found)), found
        time.sleep(3)


def rows(lake: TestLake, name: str) -> list[int]:
    with suppress(ConfigurationError, AnalysisException):  # nothing has made it yet
        return sorted(row.id for row in lake.sql(f"SELECT id FROM {name}"))
    return []


def why_failed(instance: dg.DagsterInstance, run_id: str) -> str:
    (failed,) = instance.get_records_for_run(run_id, of_type=dg.DagsterEventType.RUN_FAILURE).records
    event = failed.event_log_entry.dagster_event
    assert event
    return str(event.message)


def test_a_table_goes_on_when_its_run_and_the_daemon_die(lake: TestLake, deployment: Deployment, kit: Any) -> None:
    with deployment.instance as instance:
        land(lake, kit, [0])
        died = deployment.wait_for(dg.DagsterRunStatus.STARTED, instance)
        for pid in _descendants(deployment.daemon.pid):
            os.kill(pid, signal.SIGKILL)  # the run and its code server
        t0 = time.monotonic()
        wait_for_rows(lake, "bronze.sold", [0], GOES_ON_WITHIN, deployment)
        print("second", time.monotonic() - t0)
        assert why_failed(instance, died).startswith("the process of this run is gone")

        land(lake, kit, range(1, 20))
        not_begun = deployment.wait_for(dg.DagsterRunStatus.STARTING, instance)
        deployment.daemon.kill()
        deployment.daemon.wait(30)
        t0 = time.monotonic()
        deployment.start()
        wait_for_rows(lake, "silver.sold", range(20), GOES_ON_WITHIN, deployment)
        print("third", time.monotonic() - t0)
        assert why_failed(instance, not_begun).startswith(
            "the Dagster daemon or the code server that launched this run"
        )
        assert rows(lake, "bronze.sold") == list(range(20))
        for r in instance.get_run_records():
            print(r.dagster_run.job_name, r.dagster_run.status, r.start_time, r.end_time)
