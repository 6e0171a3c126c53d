"""Only the process of a run holds its lock, for as long as the process lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidegate.platform.launcher.run_locks import RunLocks

#: Takes the lock, starts a child that outlives it, prints that it is ready, and waits.
HOLDER = """
import os, sys, time
from pathlib import Path
from tidegate.platform.launcher.run_locks import RunLocks
RunLocks(Path(sys.argv[1])).take("run")
RunLocks(Path(sys.argv[1])).interrupt_when_asked("run")
if os.fork() == 0:
    time.sleep(30)
    os._exit(0)
print(flush=True)
time.sleep(30)
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that has the lock. It and its child are killed afterwards."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    started = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, env=environ, start_new_session=True
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
        (tmp_path / "run").write_text(f"{stranger.pid}\n")
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
