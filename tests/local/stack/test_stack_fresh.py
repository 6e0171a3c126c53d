"""A fresh demo deletes the state of its home, but never that of a running platform."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.demo import run
from tidegate.platform.local.stack_file import StackLock, empty_home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with state, and a link to a foreign folder."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept.txt").touch()
    state = tmp_path / "home" / "aws" / "state.json"
    state.parent.mkdir(parents=True)
    state.touch()
    (tmp_path / "home" / "stack.log").touch()
    (tmp_path / "home" / "link").symlink_to(tmp_path / "elsewhere")
    return tmp_path / "home"


def entries(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_fresh_demo_leaves_a_home_in_use_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "deployment", lambda *_, **__: pytest.fail("it went on to start a stack"))
    running = StackLock(home)
    running.acquire()
    try:
        before = entries(home)
        with pytest.raises(UnavailableError, match="is in use by the local platform of process"):
            run.run_demo(home, Console(quiet=True), fresh=True)
        assert entries(home) == before
    finally:
        running.release()


def test_a_home_that_nothing_runs_on_is_emptied(home: Path) -> None:
    empty_home(home)
    assert entries(home) == {"stack.lock"}
    assert (home.parent / "elsewhere" / "kept.txt").exists()


def test_a_home_that_is_not_there_yet(tmp_path: Path) -> None:
    empty_home(tmp_path / "new")
    assert entries(tmp_path) == {"new", "new/stack.lock"}
