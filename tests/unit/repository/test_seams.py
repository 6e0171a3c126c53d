"""A seam does nothing by itself. In a test it leaves a marker, and its process dies."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.tracked import ROOT, tracked
from tidegate.platform.bronze.run import SEAMS
from tidegate.platform.core import seams

#: Reaches two seams, after which tests see what was printed.
PROGRAM = """
import sys
from pathlib import Path
from tests.support.servers.death import die_at
from tidegate.platform.core.seams import seam

for name, marker in [argument.split("=") for argument in sys.argv[1:]]:
    die_at(name, Path(marker))
seam("first")
print("after first", flush=True)
seam("second")
print("after second", flush=True)
"""


def run(*deaths: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *deaths]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_without_an_action_nothing_happens() -> None:
    done = run()
    assert (done.stdout, done.returncode) == ("after first\nafter second\n", 0)


def test_a_death_happens_at_its_seam_and_leaves_the_marker(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    done = run(f"second={marker}")
    assert (done.stdout, done.returncode) == ("after first\n", -signal.SIGKILL)
    assert int(marker.read_text()) != os.getpid()


def test_a_seam_that_is_not_reached_leaves_no_marker(tmp_path: Path) -> None:
    assert run(f"third={tmp_path / 'marker'}").returncode == 0
    assert not (tmp_path / "marker").exists()


def test_every_action_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    actions: list[Callable[[str], None]] = [called.append, called.append]
    monkeypatch.setattr(seams, "actions", actions)
    seams.seam("here")
    assert called == ["here", "here"]


def test_nothing_in_the_product_adds_an_action_but_the_worker_of_a_proof() -> None:
    product = [path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] not in ("tests",)]
    found = [path for path in product if "seams.actions" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(ROOT).as_posix() for path in found] == ["platform/prove/worker.py"]


def test_the_listed_seams_are_those_of_the_code_in_order() -> None:
    bronze = ROOT / "platform" / "bronze"
    steps = "".join((bronze / name).read_text() for name in ("run.py", "record.py"))
    found = re.findall(r'^ +seam\("([a-z-]+)"\)', steps, re.MULTILINE)
    assert sorted(found) == sorted(SEAMS)
    assert len(set(SEAMS)) == len(SEAMS)
