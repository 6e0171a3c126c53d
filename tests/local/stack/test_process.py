"""Children have a log, are stopped on every path, and never outlive their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.process.process import Process, spawn, tail

# A child with a child that moves to a session of its own. Both print their process ids.
FAMILY = """
import os, subprocess, sys, time
below = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
print(os.getpid(), below.pid, flush=True)
time.sleep(300)
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(300)
"""


def run(code: str, folder: Path, **options: float) -> Process:
    return spawn("test child", [sys.executable, "-c", code], log=folder / "child.log", **options)  # type: ignore[arg-type]


def said(process: Process, until: Callable[..., bool]) -> list[int]:
    assert until(lambda: process.tail().strip() != "")
    return [int(word) for word in process.tail().split()]


def test_stop_ends_the_child_and_what_left_its_session(
    tmp_path: Path, is_gone: Callable[[int], bool], until: Callable[..., bool]
) -> None:
    process = run(FAMILY, tmp_path)
    child, below = said(process, until)
    assert child == process.pid
    process.stop(5.0)
    assert not process.alive
    assert process.returncode == 128 + signal.SIGTERM
    assert is_gone(child)
    assert is_gone(below)
    process.stop(5.0)


def test_a_child_that_ignores_sigterm_is_killed_at_the_deadline(tmp_path: Path, until: Callable[..., bool]) -> None:
    process = run(STUBBORN, tmp_path)
    said(process, until)
    began = time.monotonic()
    process.stop(1.0)
    assert 0.9 < time.monotonic() - began < 5.0
    assert process.returncode == 128 + signal.SIGKILL


def test_a_killed_child_takes_its_own_children_along(
    tmp_path: Path, is_gone: Callable[[int], bool], until: Callable[..., bool]
) -> None:
    process = run(FAMILY, tmp_path)
    _, below = said(process, until)
    process.kill()
    assert process.wait(10.0) == 128 + signal.SIGKILL
    assert is_gone(below)


def test_a_sigkilled_parent_leaves_nothing_running(
    tmp_path: Path, is_gone: Callable[[int], bool], until: Callable[..., bool], python_path: dict[str, str]
) -> None:
    parent_code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tidegate.platform.local.process.process import spawn\n"
        f"p = spawn('x', [sys.executable, '-c', {FAMILY!r}], log=Path({str(tmp_path / 'f.log')!r}))\n"
        f"q = spawn('y', [sys.executable, '-c', {STUBBORN!r}], grace=1,\n"
        f"          log=Path({str(tmp_path / 's.log')!r}))\n"
        "print(p.guard_pid, q.guard_pid, flush=True)\n"
        "time.sleep(300)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", parent_code], stdout=subprocess.PIPE, text=True, env=python_path)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    logs = (tmp_path / "f.log", tmp_path / "s.log")
    assert until(lambda: all(tail(log).strip() for log in logs))
    pids += [int(word) for log in logs for word in tail(log).split()]
    assert len(pids) == 5
    parent.send_signal(signal.SIGKILL)
    parent.wait(5)
    parent.stdout.close()
    assert all(is_gone(pid) for pid in pids)


def test_a_child_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    started: list[Process] = []
    thread = threading.Thread(target=lambda: started.append(run(FAMILY, tmp_path)))
    thread.start()
    thread.join(10)
    time.sleep(0.5)
    try:
        assert started[0].alive
    finally:
        started[0].stop(5.0)


def test_two_threads_may_stop_it_at_once(tmp_path: Path) -> None:
    process = run(FAMILY, tmp_path)
    threads = [threading.Thread(target=process.stop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not process.alive


def test_a_program_that_does_not_exist_says_so_in_the_log(tmp_path: Path) -> None:
    process = spawn("ghost", [str(tmp_path / "ghost")], log=tmp_path / "ghost.log")
    assert process.wait(10.0) == 127
    assert "cannot start" in process.tail()


def test_wait_has_a_deadline(tmp_path: Path) -> None:
    process = run(FAMILY, tmp_path)
    try:
        with pytest.raises(UnavailableError, match="did not end within"):
            process.wait(0.2)
    finally:
        process.stop(5.0)


def test_no_pipe_of_ours_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        run("pass", tmp_path).stop(5.0)
    assert len(os.listdir("/proc/self/fd")) == before
