"""One platform per home."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidegate.platform.local.errors import LocalStackError
from tidegate.platform.local.stack_file import StackInfo, StackLock, find_stack, remove_stack, write_stack


def info(pid: int, guard: int) -> StackInfo:
    return StackInfo(pid, {"aws": pid}, {"aws": guard}, {"aws": 1}, {"A": "T0K3N"})


def test_a_running_stack_is_found(tmp_path: Path) -> None:
    assert find_stack(tmp_path) is None
    written = info(os.getpid(), os.getpid())
    write_stack(tmp_path, written)
    assert find_stack(tmp_path) == written
    files = [path for path in tmp_path.iterdir() if path.name != "stack.lock"]
    assert {(path.name, path.stat().st_mode & 0o777) for path in files} == {
        ("stack.json", 0o600), ("environment.sh", 0o600)
    }  # fmt: skip
    assert "T0K3N" not in repr(written)
    remove_stack(tmp_path)
    assert not any(path.exists() for path in files)
    assert find_stack(tmp_path) is None


def test_a_dead_or_broken_stack_is_none(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(10)
    write_stack(tmp_path, info(dead.pid, dead.pid))
    assert find_stack(tmp_path) is None
    (tmp_path / "stack.json").write_text("{")
    assert find_stack(tmp_path) is None


def test_two_processes_cannot_share_a_home(tmp_path: Path, python_path: dict[str, str]) -> None:
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tidegate.platform.local.stack_file import StackLock\n"
        "lock = StackLock(Path(sys.argv[1])); lock.acquire(); print('held', flush=True); time.sleep(300)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, env=python_path)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LocalStackError, match=rf"in use by the local platform of process {holder.pid}"):
            StackLock(tmp_path).acquire()
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
        holder.stdout.close()
    # The lock of a dead process is free.
    lock = StackLock(tmp_path)
    lock.acquire()
    lock.release()
    lock.release()


def test_a_new_stack_waits_for_the_remains_of_a_dead_one(tmp_path: Path) -> None:
    remains = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1)"])
    try:
        write_stack(tmp_path, info(1, remains.pid))
        lock = StackLock(tmp_path)
        began = time.monotonic()
        # This child is a zombie until it is waited for, unlike the guard of a dead parent, so the deadline ends the
        # wait.
        lock.acquire(1.5)
        assert 1.0 < time.monotonic() - began < 5
        assert not (tmp_path / "stack.json").exists()
        lock.release()
    finally:
        remains.wait(10)
