"""One platform per home."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.stack_file import (
    StackInfo,
    StackLock,
    client_environ,
    find_stack,
    remove_stack,
    write_stack,
)

ADDRESSES = {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "SPARK_REMOTE": "sc://localhost:15002"}


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    lock = StackLock(tmp_path)
    lock.acquire()
    yield tmp_path
    lock.release()


def info(pid: int, guard: int) -> StackInfo:
    environ = {"SPARK_CONNECT_AUTHENTICATE_TOKEN": "T0K3N", **ADDRESSES}
    return StackInfo(pid, {"aws": pid}, {"aws": guard}, {"aws": 1}, environ)


def test_a_running_stack_is_found(tmp_path: Path, locked: Path) -> None:
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
    lock = StackLock(tmp_path)
    lock.acquire()
    write_stack(tmp_path, info(os.getpid(), os.getpid()))
    lock.release()
    # The process id is that of a process that runs, as after it was used again.
    assert find_stack(tmp_path) is None
    lock.acquire()
    (tmp_path / "stack.json").write_text("{")
    assert find_stack(tmp_path) is None
    lock.release()


@pytest.mark.parametrize(
    "environ",
    [
        {"SPARK_REMOTE": "sc://evil.example:443/;use_ssl=true"},
        {"SPARK_REMOTE": "sc://127.0.0.1.evil.example:1"},
        {"SPARK_REMOTE": "sc://127.0.0.1@evil.example:1"},
        {"SPARK_REMOTE": "sc://169.254.169.254:1"},
        {"AWS_ENDPOINT_URL": "https://evil.example"},
        {"TIDEGATE_QUEUE_URL": "http://[2001:db8::1]/q"},
        {"TIDEGATE_QUEUE_URL": "http://[bad/q"},
        {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1"},
        {"AWS_CONFIG_FILE": "aws.ini"},
        {"PYTHONPATH": "."},
    ],
    ids=str,
)
def test_a_file_that_leads_elsewhere_is_none(tmp_path: Path, locked: Path, environ: dict[str, str]) -> None:
    write_stack(tmp_path, StackInfo(os.getpid(), {}, {}, {}, {**ADDRESSES, **environ}))
    assert find_stack(tmp_path) is None


def test_a_file_of_a_folder_that_was_copied_is_none(
    tmp_path: Path, locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_stack(tmp_path, info(os.getpid(), os.getpid()))
    file = tmp_path / "stack.json"
    for mode in (0o604, 0o640, 0o620, 0o602):
        file.chmod(mode)
        assert find_stack(tmp_path) is None
    file.chmod(0o600)
    assert find_stack(tmp_path) is not None
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert find_stack(tmp_path) is None
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    assert find_stack(tmp_path) is None


def test_the_token_of_another_server_stays_out_of_the_environment_of_a_platform(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SPARK_CONNECT_AUTHENTICATE_TOKEN", "SPARK_REMOTE", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.setenv(name, "production")
    assert "production" not in client_environ(ADDRESSES).values()


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
        with pytest.raises(UnavailableError, match=rf"in use by the local platform of process {holder.pid}"):
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
