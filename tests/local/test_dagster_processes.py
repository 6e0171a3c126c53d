"""What keeps Dagster from starting is said in one line; that it comes up, launches runs and goes, the demo shows."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tidegate.platform.local.dagster_processes import DagsterProcesses
from tidegate.platform.local.errors import LocalStackError
from tidegate.platform.local.ports import LOOPBACK


def processes(folder: Path, env: dict[str, str], ui: int | None, code: str = "") -> DagsterProcesses:
    (folder / "tiny_definitions.py").write_text(code)
    env = env | {"PYTHONPATH": f"{folder}{os.pathsep}{env['PYTHONPATH']}"}
    return DagsterProcesses(folder / "home", env, ui, module="tiny_definitions")


@pytest.mark.timeout(120)
def test_definitions_that_do_not_load_say_why(tmp_path: Path, python_path: dict[str, str]) -> None:
    dagster = processes(tmp_path, python_path, None, "import no_such_module\n")
    with pytest.raises(LocalStackError, match=r"tiny_definitions do not load: .*no_such_module"):
        dagster.start()
    assert not any(process.alive for process in dagster.processes.values())


def test_a_taken_ui_port(tmp_path: Path, python_path: dict[str, str]) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        dagster = processes(tmp_path, python_path, taken.getsockname()[1])
        with pytest.raises(LocalStackError, match="--ui-port"):
            dagster.start()
    assert dagster.processes == {}
