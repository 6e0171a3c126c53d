"""Runs are forks of a warm process, and have every property that Dagster promises of a run."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

import dagster as dg
import pytest
from dagster._core.definitions.reconstruct import ReconstructableRepository
from dagster._core.launcher import DefaultRunLauncher, LaunchRunContext, WorkerStatus
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.remote_representation.code_location import GrpcServerCodeLocation

from tests.support.plugins.processes import eventually, gone
from tidegate.platform.launcher import run_launcher
from tidegate.platform.launcher.run_launcher import ForkingRunLauncher
from tidegate.platform.launcher.warm_process import Launch, NoAnswer, NotForked, WarmProcess

pytestmark = pytest.mark.timeout(120)

INSTANCE = """
run_launcher: {module: tidegate.platform.launcher.run_launcher, class: ForkingRunLauncher}
telemetry: {enabled: false}
"""
CODE = """
import _thread, os, signal, threading, time
import dagster as dg

IMPORTED_BY = os.getpid()
if "THREADED" in os.environ:
    threading.Thread(target=time.sleep, args=(300,), name="of the user", daemon=True).start()
if "LATER" in os.environ:
    # As a library's: Python does not count it. It begins when the first run is asked for.
    from __main__ import ForkServer
    launch = ForkServer._launch

    def begin_one_and_launch(server, one):
        _thread.start_new_thread(time.sleep, (300,))
        return launch(server, one)

    ForkServer._launch = begin_one_and_launch

@dg.op
def say(context):
    context.log.info(f"imported by {IMPORTED_BY}, parent {os.getppid()}")

@dg.op
def hang(context):
    context.log.info("hanging")
    time.sleep(300)

@dg.op
def crash():
    os.kill(os.getpid(), signal.SIGKILL)

@dg.job(executor_def=dg.in_process_executor)
def says(): say()

@dg.job(executor_def=dg.in_process_executor)
def hangs(): hang()

@dg.job(executor_def=dg.in_process_executor)
def crashes(): crash()

defs = dg.Definitions(jobs=[says, hangs, crashes])
"""


class Scene:
    """An instance with the launcher, and a code location with a pretended server: only its id is used."""

    def __init__(self, folder: Path) -> None:
        (folder / "dagster.yaml").write_text(INSTANCE)
        code = folder / "code_of_a_user.py"
        code.write_text(CODE)
        self.instance = dg.DagsterInstance.from_config(str(folder))
        self.server = "first"
        self.repository = ReconstructableRepository.for_file(str(code), "defs", str(folder))
        spec = importlib.util.spec_from_file_location("code_of_a_user", code)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self._defs = module.defs
        location = create_autospec(GrpcServerCodeLocation, instance=True)
        location.client = SimpleNamespace(get_server_id=lambda: self.server)
        self._workspace: Any = SimpleNamespace(get_code_location=lambda name: location)

    @property
    def launcher(self) -> ForkingRunLauncher:
        launcher = self.instance.run_launcher
        assert isinstance(launcher, ForkingRunLauncher)
        return launcher

    def launch(self, job: str) -> str:
        origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("tiny"), "__repository__").get_job_origin(job)
        run = self.instance.create_run_for_job(
            self._defs.get_job_def(job),
            status=dg.DagsterRunStatus.STARTING,
            remote_job_origin=origin,
            job_code_origin=self.repository.get_reconstructable_job(job).get_python_origin(),
        )
        self.launcher.launch_run(LaunchRunContext(run, self._workspace))
        return run.run_id

    def ends(self, run_id: str, status: dg.DagsterRunStatus) -> bool:
        return eventually(lambda: self.run(run_id).status == status, 30)

    def run(self, run_id: str) -> dg.DagsterRun:
        run = self.instance.get_run_by_id(run_id)
        assert run
        return run

    def lines(self, run_id: str) -> str:
        return "\n".join(entry.user_message or str(entry.message) for entry in self.instance.all_logs(run_id))

    def said(self, job: str = "says") -> list[int]:
        """Run the job. Returns the process that imported its code, and its parent."""
        run_id = self.launch(job)
        assert self.ends(run_id, dg.DagsterRunStatus.SUCCESS), self.lines(run_id)
        words = next(line for line in self.lines(run_id).splitlines() if "imported by" in line).replace(",", "").split()
        return [int(word) for word in words if word.isdigit()]

    def pid(self, run_id: str) -> int:
        """Wait until the run hangs. Returns its process id."""
        assert eventually(lambda: "hanging" in self.lines(run_id), 30)
        pid = self.launcher._locks.pid(run_id)
        assert pid
        return pid


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    scene = Scene(tmp_path_factory.mktemp("launcher"))
    yield scene
    scene.instance.dispose()


def test_runs_are_forks_of_one_process_that_has_imported_their_code(scene: Scene) -> None:
    imported, parent = scene.said()
    assert imported == parent != os.getpid()
    assert scene.said() == [imported, parent]


def test_a_run_whose_process_dies_fails_and_says_of_what(scene: Scene) -> None:
    run_id = scene.launch("crashes")
    assert scene.ends(run_id, dg.DagsterRunStatus.FAILURE)
    assert "terminated by signal 9 (SIGKILL)" in scene.lines(run_id)
    assert eventually(lambda: not (scene.launcher._locks.folder / run_id).exists())


def test_a_run_is_interrupted_where_it_hangs(scene: Scene) -> None:
    run_id = scene.launch("hangs")
    pid = scene.pid(run_id)
    assert scene.launcher.check_run_worker_health(scene.run(run_id)).status == WorkerStatus.RUNNING
    assert scene.launcher.terminate(run_id)
    assert scene.ends(run_id, dg.DagsterRunStatus.CANCELED)
    assert eventually(lambda: gone(pid))
    assert not scene.launcher.terminate(run_id)


def test_a_reloaded_code_server_gets_a_fresh_process_and_the_old_one_ends_with_its_runs(scene: Scene) -> None:
    before = scene.said()[0]
    hanging = scene.launch("hangs")
    scene.pid(hanging)
    scene.server = "second"
    assert scene.said()[0] != before
    assert not gone(before)
    assert scene.launcher.terminate(hanging)
    assert eventually(lambda: gone(before))


def test_a_dead_warm_process_is_replaced_and_its_runs_live_on(scene: Scene) -> None:
    before = scene.said()[0]
    hanging = scene.launch("hangs")
    pid = scene.pid(hanging)
    os.kill(before, signal.SIGKILL)
    assert eventually(lambda: gone(before))
    assert scene.said()[0] != before
    assert scene.launcher.check_run_worker_health(scene.run(hanging)).status == WorkerStatus.RUNNING
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: gone(pid))
    health = scene.launcher.check_run_worker_health(scene.run(hanging))
    assert health.status == WorkerStatus.NOT_FOUND  # Dagster's monitoring fails such a run


def test_a_run_that_was_started_in_another_way_is_let_be(scene: Scene) -> None:
    """For example `dagster asset materialize`: otherwise run monitoring would fail an active run."""
    run = scene.instance.create_run_for_job(scene._defs.get_job_def("says"), status=dg.DagsterRunStatus.STARTED)
    assert scene.launcher.check_run_worker_health(run).status == WorkerStatus.RUNNING
    assert not scene.launcher.terminate(run.run_id)


@pytest.fixture
def by_default(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the runs that Dagster's default launcher started."""
    runs: list[str] = []
    monkeypatch.setattr(DefaultRunLauncher, "launch_run", lambda _, context: runs.append(context.dagster_run.run_id))
    return runs


@pytest.mark.parametrize(
    ("variable", "line"),
    [
        ("THREADED", "other threads (of the user) and cannot be forked: Dagster's default launcher"),
        ("LATER", "a library started threads in the warm process ("),
    ],
    ids=["of the user", "of a library"],
)
def test_a_process_with_threads_is_not_forked_and_the_run_says_so(
    variable: str, line: str, scene: Scene, by_default: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    scene.server = variable.lower()
    run_id = scene.launch("says")
    assert by_default == [run_id]
    assert line in scene.lines(run_id)


@pytest.mark.parametrize("forked", [True, False], ids=["the fork is there", "there is none"])
def test_a_run_is_started_once_though_the_warm_process_says_nothing(
    scene: Scene, by_default: list[str], monkeypatch: pytest.MonkeyPatch, forked: bool
) -> None:
    def silent(warm: WarmProcess, launch: Launch) -> int:
        if forked:
            assert fork(warm, launch)
            assert eventually(lambda: scene.launcher._locks.pid(launch.run_id) is not None, 30)
        warm._process.kill()
        raise NoAnswer("the warm process did not answer within 30 s")

    fork = WarmProcess.fork
    monkeypatch.setattr(WarmProcess, "fork", silent)
    scene.server = f"silent {forked}"
    run_id = scene.launch("hangs")
    assert by_default == ([] if forked else [run_id])
    if forked:
        scene.pid(run_id)
        assert scene.launcher.terminate(run_id)
        assert scene.ends(run_id, dg.DagsterRunStatus.CANCELED)
    else:
        assert scene.launcher.check_run_worker_health(scene.run(run_id)).status == WorkerStatus.RUNNING


def test_a_code_location_that_did_not_load_is_not_tried_again_before_it_changes(
    scene: Scene, by_default: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[object] = []

    class Broken(WarmProcess):
        def __init__(self, *arguments: object) -> None:
            tries.append(arguments)
            raise NotForked("it does not load")

    monkeypatch.setattr(run_launcher, "WarmProcess", Broken)
    scene.server = "broken"
    runs = [scene.launch("says"), scene.launch("says")]
    assert by_default == runs
    assert len(tries) == 1
    scene.server = "mended"
    scene.launch("says")
    assert len(tries) == 2


def test_nothing_is_left_when_the_launcher_goes(scene: Scene, is_gone: Callable[[int], bool]) -> None:
    scene.server = "last"
    process = scene.said()[0]
    scene.launcher.dispose()
    assert is_gone(process)
