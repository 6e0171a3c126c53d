"""A lake with rows in it, for the commands that look at one."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from tidegate.platform.testing import TestLake


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=100, force_terminal=False, no_color=True)


@pytest.fixture
def said(console: Console) -> Callable[[], str]:
    def text() -> str:
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    return text


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[TestLake], None]:
    """Make this process what a user's shell is: the lake in the environment, no platform in the working directory."""

    def use(lake: TestLake) -> None:
        monkeypatch.setenv("TIDEGATE_LAKE", str(lake.path))
        monkeypatch.chdir(tmp_path)

    return use
