"""A seam does nothing without the variable. With it, a seam leaves a marker and sends a signal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidegate.platform.bronze.run import SEAMS
from tidegate.platform.core import failpoints
from tidegate.platform.core.failpoints import seam

PROGRAM = f"""
import importlib.util
spec = importlib.util.spec_from_file_location("failpoints", {failpoints.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.seam("first")
print("after first", flush=True)
module.seam("second")
print("after second", flush=True)
"""


def start(setting: str | None) -> subprocess.Popen[str]:
    environ = {name: value for name, value in os.environ.items() if name != "TIDEGATE_FAILPOINT"}
    if setting:
        environ["TIDEGATE_FAILPOINT"] = setting
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", PROGRAM], env=environ, stdout=subprocess.PIPE, text=True)


def test_without_the_variable_nothing_happens() -> None:
    process = start(None)
    assert process.communicate(timeout=30)[0] == "after first\nafter second\n"
    assert process.returncode == 0


def test_a_kill_happens_at_its_seam_and_leaves_the_marker(tmp_path: Path) -> None:
    marker = tmp_path / "with:colon"
    process = start(f"second:kill:{marker}")
    assert process.communicate(timeout=30)[0] == "after first\n"
    assert process.returncode == -signal.SIGKILL
    assert marker.read_text() == str(process.pid)


def test_a_stopped_process_continues_on_request(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    process = start(f"first:stop:{marker}")
    try:
        end = time.monotonic() + 30
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < end
            time.sleep(0.01)
        assert marker.exists()
        process.send_signal(signal.SIGCONT)
        assert process.communicate(timeout=30)[0] == "after first\nafter second\n"
    finally:
        process.kill()
        process.wait(timeout=30)


def test_a_seam_that_is_not_reached_leaves_no_marker(tmp_path: Path) -> None:
    process = start(f"third:kill:{tmp_path / 'marker'}")
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert not (tmp_path / "marker").exists()


def test_an_unknown_action_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDEGATE_FAILPOINT", f"here:explode:{tmp_path / 'marker'}")
    seam("elsewhere")
    with pytest.raises(AssertionError, match=r"must be one of \['kill', 'stop'\]"):
        seam("here")


def test_the_listed_seams_are_those_of_the_code_in_order() -> None:
    bronze = Path(__file__).resolve().parents[3] / "platform" / "bronze"
    steps = "".join((bronze / name).read_text() for name in ("run.py", "record.py"))
    found = re.findall(r'^ +seam\("([a-z-]+)"\)', steps, re.MULTILINE)
    assert sorted(found) == sorted(SEAMS)
    assert len(set(SEAMS)) == len(SEAMS)
