"""A run is ended if its process is known to be gone, in every state that a run, a lock and a machine can have."""

from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test
from dagster._daemon.types import DaemonHeartbeat

from tidegate.assets.runs import run_locks
from tidegate.assets.runs.dead_runs import BEGIN_WITHIN, DeadRuns
from tidegate.assets.runs.run_locks import RunLocks
from tidegate.platform.core.errors import UnavailableError

Status = dg.DagsterRunStatus
#: A run at work, and what it becomes when it is ended.
ENDS_AS = {Status.STARTING: Status.FAILURE, Status.STARTED: Status.FAILURE, Status.CANCELING: Status.CANCELED}
HERE, BOOT = "this-machine", "boot-2"
#: What the file of a run may have, and whether a process of this machine wrote it. None: no process did.
FILES: Mapping[str | None, bool | None] = {
    None: None,
    "": None,
    "given up\n": None,
    "{pid}\n": None,  # of a version that named no machine
    "run {pid} boot-2 this-machine\n": True,
    "fork {pid} boot-2 this-machine\n": True,
    "run {pid} boot-2 another-container\n": True,
    "run {pid} boot-1 this-machine\n": True,  # it was started again
    "run {pid} boot-1 another-machine\n": False,
    "run {pid} - another-machine\n": False,  # its boot id cannot be read
    "run {pid} - this-machine\n": True,
}
#: Holds the locks of the files that it gets, and prints that it has them.
HOLDER = """
import fcntl, sys
files = [open(name, "r+b") for name in sys.stdin.readline().split()]
for file in files:
    fcntl.lockf(file, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """Yield an instance in memory, because the tests have hundreds of runs."""
    with dg.DagsterInstance.ephemeral(str(tmp_path)) as made:
        yield made


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_locks, "_machine", lambda: (BOOT, HERE))


@contextmanager
def held(paths: list[Path]) -> Iterator[int]:
    """Let another process hold these locks. Yields its id."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    print(*paths, file=process.stdin, flush=True)
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.communicate()


def create(
    instance: dg.DagsterInstance,
    before: dg.DagsterRunStatus,
    location: str | None = "tidegate",
    job: str = "job",
) -> str:
    origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin(location), "r") if location else None
    named = origin.get_job_origin(job) if origin else None
    return create_run_for_test(instance, job, status=before, remote_job_origin=named).run_id


def status(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run
    return run.status


def test_a_run_is_ended_if_its_process_died_on_this_machine_and_never_otherwise(instance: dg.DagsterInstance) -> None:
    locks = RunLocks.from_root(instance.root_directory)
    locks.folder.mkdir()
    dead_pid = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], stdout=subprocess.PIPE).stdout
    runs = {}
    for before, file, alive, reused in product(Status, FILES, (False, True), (False, True)):
        if file is None and (alive or reused):
            continue
        run_id = create(instance, before)
        runs[run_id] = (before, file, alive)
        if file is not None:
            # A number of a process says nothing: here it is that of this test, or of none.
            pid = os.getpid() if reused else int(dead_pid)
            (locks.folder / run_id).write_text(file.format(pid=pid))
    dead = DeadRuns(["job"])
    with held([locks.folder / run_id for run_id, (_, _, alive) in runs.items() if alive]):
        assert dead.end(instance, "tidegate") == [], "a code server may be about to say why it died"
        assert all(status(instance, run_id) is before for run_id, (before, _, _) in runs.items())
        lines = dead.end(instance, "tidegate")
        for run_id, (before, file, alive) in runs.items():
            died = FILES[file] is True and not alive
            forgotten = died or (FILES[file] is False and not alive and before not in ENDS_AS)
            assert status(instance, run_id) is (ENDS_AS.get(before, before) if died else before), (before, file, alive)
            assert (locks.folder / run_id).exists() is (file is not None and not forgotten), (before, file, alive)
            assert any(run_id in line for line in lines) is (died and before in ENDS_AS)
        assert dead.end(instance, "tidegate") == []


def test_a_run_that_its_code_server_ended_is_not_ended_again(instance: dg.DagsterInstance) -> None:
    locks = RunLocks.from_root(instance.root_directory)
    run, dead = create_run_for_test(instance, status=Status.STARTED), DeadRuns(["job"])
    locks.folder.mkdir()
    (locks.folder / run.run_id).write_text(f"run 1 {BOOT} {HERE}\n")
    dead.end(instance, "tidegate")
    instance.report_run_failed(run, "killed by signal 9")
    assert dead.end(instance, "tidegate") == []
    failed = instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE).records
    assert ["signal 9" in str(each.event_log_entry.dagster_event) for each in failed] == [True]
    assert not list(locks.folder.iterdir())


def test_a_run_that_ended_leaves_no_file_and_one_whose_end_nobody_wrote_down_is_ended(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """Dagster's process of a run ends with 0 even if it could not write down the failure of the run."""
    locks, dead = RunLocks.from_root(instance.root_directory), DeadRuns(["job"])
    runs = {create(instance, before): before for before in (Status.STARTED, Status.SUCCESS)}
    launch = "from tidegate.platform.launcher import fork_server as s; s.api_cli.main = lambda *_, **__: None; " + (
        "import sys, multiprocessing as m; from pathlib import Path; "
        "s._run(m.Pipe()[0], s.Launch(sys.argv[1], '', Path(sys.argv[2])))"
    )
    for run_id in runs:
        subprocess.run([sys.executable, "-c", launch, run_id, str(locks.folder)], check=True, timeout=60)
        file = locks.folder / run_id
        assert file.exists()
        file.write_text(f"fork 1 {BOOT} {HERE}\n")
    dead.end(instance, "tidegate")
    dead.end(instance, "tidegate")
    assert [status(instance, run_id) for run_id in runs] == [Status.FAILURE, Status.SUCCESS]
    assert not list(locks.folder.iterdir())


def test_a_run_that_was_deleted_leaves_no_file(instance: dg.DagsterInstance) -> None:
    locks, dead = RunLocks.from_root(instance.root_directory), DeadRuns(["job"])
    locks.folder.mkdir()
    (locks.folder / "deleted").write_text(f"run 1 {BOOT} {HERE}\n")
    assert dead.end(instance, "tidegate") + dead.end(instance, "tidegate") == []
    assert not list(locks.folder.iterdir())


@dataclass
class Launches:
    """An instance with runs of every status, of two code locations and of none, with a process and without."""

    instance: dg.DagsterInstance
    now: float
    _heartbeats: int = 0

    def __post_init__(self) -> None:
        self.start_code_server()
        self.locks = RunLocks.from_root(self.instance.root_directory)
        self.locks.folder.mkdir(exist_ok=True)

    def start_code_server(self) -> None:
        self.dead = DeadRuns(["job"], lambda: self.now, lambda: self.now)

    def start_daemon(self) -> None:
        self._heartbeats += 1
        beat = DaemonHeartbeat(self.now, "SENSOR", f"daemon {self._heartbeats}", [])
        self.instance.add_daemon_heartbeat(beat)

    def create(self, before: dg.DagsterRunStatus, location: str | None = "tidegate", job: str = "job") -> str:
        return create(self.instance, before, location, job)

    def look(self, seconds: float) -> list[str]:
        self.now += seconds
        return self.dead.end(self.instance, "tidegate")


@pytest.fixture
def launches(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> Launches:
    launcher = dg.DefaultRunLauncher()
    monkeypatch.setattr(type(instance), "run_launcher", property(lambda _: launcher))
    return Launches(instance, time.time())


def test_a_launch_is_ended_if_who_launched_it_is_gone_and_no_process_began_it(launches: Launches) -> None:
    cases = [
        (state, location, begun, job)
        for state, location, begun, job in product(Status, ("tidegate", "another", None), (False, True), ("job", "own"))
        if location or state is not Status.QUEUED
    ]
    before = {launches.create(case[0], case[1], case[3]): case for case in cases}
    launches.now = math.ceil(time.time()) - 0.5  # the clock of runs that are made here has whole seconds
    time.sleep(max(0.0, launches.now + 0.5 - time.time()))
    launches.start_code_server()
    launches.start_daemon()
    launches.look(0)
    after = [launches.create(state, location) for state, location, _, _ in cases]
    paths = [launches.locks.folder / run_id for run_id, (_, _, begun, _) in before.items() if begun]
    for path in paths:
        path.write_text(f"run 1 {BOOT} {HERE}\n")
    kept = {run_id: status(launches.instance, run_id) for run_id in [*before, *after]}
    with held(paths):
        assert launches.look(BEGIN_WITHIN - 1) == []
        assert {run_id: status(launches.instance, run_id) for run_id in kept} == kept
        (line,) = launches.look(1)
        ended = {run_id for run_id in kept if status(launches.instance, run_id) is not kept[run_id]}
        assert [before[run_id] for run_id in ended] == [(Status.STARTING, "tidegate", False, "job")]
        assert all(run_id in line and status(launches.instance, run_id) is Status.FAILURE for run_id in ended)
        assert launches.look(3600) == []


@pytest.mark.parametrize("gone", ["daemon", "code server"])
def test_a_launch_of_a_dead_daemon_or_code_server_is_ended_and_that_of_living_ones_is_not(
    gone: str, launches: Launches
) -> None:
    launches.start_daemon()
    launches.look(0)
    launches.look(BEGIN_WITHIN)
    launched = launches.create(Status.STARTING)
    assert launches.look(3600) == [], "run monitoring knows how long a start may take"
    if gone == "daemon":
        launches.start_daemon()
    else:
        launches.start_code_server()
    assert launches.look(0) == []
    (line,) = launches.look(BEGIN_WITHIN)
    assert launched in line


def test_a_launch_of_another_launcher_may_begin_on_any_machine(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_installed(_: object) -> object:
        raise ImportError("dagster_k8s")

    launched = launches.create(Status.STARTING)
    for launcher in (lambda _: object(), not_installed):
        monkeypatch.setattr(type(launches.instance), "run_launcher", property(launcher))
        launches.now = time.time()
        launches.start_code_server()
        assert launches.look(0) + launches.look(BEGIN_WITHIN) == []
    assert status(launches.instance, launched) is Status.STARTING


def test_two_daemons_end_no_launch_of_each_other(launches: Launches) -> None:
    launched = launches.create(Status.STARTING)
    for _ in range(10):
        launches.start_daemon()
        assert launches.look(BEGIN_WITHIN - 1) == []
    assert status(launches.instance, launched) is Status.STARTING


def test_machines_that_cannot_read_their_boot_id_are_not_one(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_locks, "_machine", lambda: ("-", HERE))
    locks = RunLocks.from_root(instance.root_directory)
    locks.folder.mkdir()
    for name in (HERE, "another-machine"):
        (locks.folder / name).write_text(f"run 1 - {name}\n")
    assert locks.find_free() == {HERE: True, "another-machine": False}


def test_a_run_that_begins_while_it_is_ended_does_not_work(instance: dg.DagsterInstance) -> None:
    locks = RunLocks.from_root(instance.root_directory)
    assert locks.end("late")
    with pytest.raises(UnavailableError, match="was ended before it began"):
        locks.hold("late")
    assert not locks.take("late")
    with held([locks.folder / "late"]):
        assert not locks.end("late")


@pytest.mark.parametrize("fault", ["read-only", "full"])
def test_a_lock_that_cannot_be_asked_for_ends_no_run_and_fails_none(
    fault: str, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine's disk may be full, or mounted to read only, as a container's may be."""
    locks = RunLocks.from_root(instance.root_directory)
    locks.folder.mkdir()
    run_id = create(instance, Status.STARTED)
    (locks.folder / run_id).write_text(f"run 1 {BOOT} {HERE}\n")
    number = errno.EROFS if fault == "read-only" else errno.ENOSPC

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    for name in ("pwrite", "truncate", "unlink") if fault == "full" else ("open", "pwrite", "truncate", "unlink"):
        monkeypatch.setattr(f"os.{name}", refuse)
    if fault == "read-only":
        monkeypatch.setattr(Path, "open", refuse)
        dead = DeadRuns(["job"])
        assert dead.end(instance, "tidegate") + dead.end(instance, "tidegate") == []
        assert status(instance, run_id) is Status.STARTED
    locks.hold("another")
