"""Only the process of a run holds its lock, for as long as the process lives."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from tidegate.assets.runs.executor import run_executor
from tidegate.assets.runs.run_locks import RunLocks

#: Takes the lock, starts a child that outlives it, prints that it is ready, and waits.
HOLDER = """
import os, sys, time
from pathlib import Path
from tidegate.assets.runs.run_locks import RunLocks
RunLocks(Path(sys.argv[1])).take("run")
RunLocks(Path(sys.argv[1])).interrupt_when_asked("run")
if os.fork() == 0:
    time.sleep(30)
    os._exit(0)
print(flush=True)
time.sleep(30)
"""
#: Prints what another process than that of the run learns.
ASKS = """
import sys
from pathlib import Path
from tidegate.assets.runs.run_locks import RunLocks
locks = RunLocks(Path(sys.argv[1]))
print(locks.is_held("run"), locks.has_died("run"), locks.pid("run"), locks.interrupt("run"))
"""


@dg.op
def look(context: dg.OpExecutionContext) -> bool:
    return RunLocks.from_root(context.instance.root_directory).is_held(context.run_id)


@dg.job(executor_def=run_executor)
def looks() -> None:
    look()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@contextmanager
def holder(folder: Path, source: str = HOLDER) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that has the lock. It and its child are killed afterwards."""
    started = subprocess.Popen(
        [sys.executable, "-c", source, str(folder)], stdout=subprocess.PIPE, env=environment(), start_new_session=True
    )
    assert started.stdout
    started.stdout.readline()
    try:
        yield started
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()


def test_a_run_is_alive_while_its_process_is_and_has_died_after(tmp_path: Path) -> None:
    locks = RunLocks(tmp_path / "locks")
    assert (locks.pid("run"), locks.has_died("run"), locks.interrupt("run")) == (None, False, False)
    with holder(locks.folder) as process:
        assert (locks.pid("run"), locks.has_died("run")) == (process.pid, False)
        process.kill()
        process.wait()
        assert (locks.pid("run"), locks.has_died("run")) == (None, True)  # although its child lives
        locks.forget("run")
        assert not locks.has_died("run")


def test_a_run_that_was_given_up_is_taken_by_no_process_and_has_not_died(tmp_path: Path) -> None:
    locks = RunLocks(tmp_path / "locks")
    assert locks.give_up("late")
    assert not locks.take("late"), "two processes would have the run"
    assert (locks.pid("late"), locks.has_died("late")) == (None, False), "what was started in another way is let be"
    with holder(locks.folder) as process:
        assert not locks.give_up("run"), "it goes on where it began"
        assert locks.pid("run") == process.pid


def test_an_interrupt_reaches_the_process_that_holds_the_lock(tmp_path: Path) -> None:
    locks = RunLocks(tmp_path)
    with holder(tmp_path) as process:
        assert locks.interrupt("run")
        assert process.wait(20) == -signal.SIGINT
        locks.forget("run")
        assert not list(tmp_path.iterdir())


def test_an_interrupt_from_another_container_meets_no_process_that_has_the_number_of_the_run(tmp_path: Path) -> None:
    """A process of another PID namespace wrote its number, which is that of another process here."""
    locks = RunLocks(tmp_path)
    with holder(tmp_path) as process, subprocess.Popen(["sleep", "60"]) as stranger:
        (tmp_path / "run").write_text(f"fork {stranger.pid} another machine\n")
        try:
            assert locks.interrupt("run")
            assert process.wait(20) == -signal.SIGINT
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_an_empty_file_that_is_locked_is_a_run_about_to_say_who_it_is(tmp_path: Path) -> None:
    locks = RunLocks(tmp_path)
    with holder(tmp_path):
        os.truncate(tmp_path / "run", 0)
        assert (locks.pid("run"), locks.has_died("run")) == (None, False)


def test_a_run_that_was_not_forked_has_a_lock_and_no_process_that_can_be_asked_to_stop(tmp_path: Path) -> None:
    locks = RunLocks(tmp_path / "locks")
    locks.hold("run")
    locks.hold("run")
    # Each question opens the file. To close it in this process would free the lock.
    assert (locks.is_held("run"), locks.has_died("run"), locks.find_free()) == (True, False, {})
    asked = subprocess.run([sys.executable, "-c", ASKS, str(locks.folder)], env=environment(), capture_output=True)
    assert asked.stdout.decode().split() == ["True", "False", "None", "False"]


def test_a_fork_keeps_its_lock_when_its_executor_asks_for_it(tmp_path: Path) -> None:
    source = HOLDER.replace("if os.fork()", 'RunLocks(Path(sys.argv[1])).hold("run")\nif os.fork()')
    with holder(tmp_path, source) as process:
        assert RunLocks(tmp_path).pid("run") == process.pid


def test_a_run_works_without_a_lock_where_it_can_have_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nowhere = RunLocks(tmp_path / "file")
    nowhere.hold("run")
    assert (nowhere.is_held("run"), nowhere.find_free()) == (False, {})
    with holder(tmp_path):
        RunLocks(tmp_path).hold("run")
    assert RunLocks(tmp_path).find_free() == {"run": True}, "the lock is that of the other process"


def test_the_executor_of_a_run_takes_its_lock_for_as_long_as_its_process_lives(tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral(str(tmp_path)) as instance:
        locks = RunLocks.from_root(instance.root_directory)
        with dg.execute_job(dg.reconstructable(looks), instance) as result:
            assert result.success
            assert result.output_for_node("look") is True
        assert locks.is_held(result.run_id), "only Dagster knows whether the end of the run was written down"
