"""Dagster's processes come up, launch a run, and go."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.platform.local.dagster_processes import DagsterProcesses
from tidegate.platform.local.errors import LocalStackError
from tidegate.platform.local.ports import LOOPBACK

pytestmark = pytest.mark.unit

DEFINITIONS = """
import dagster as dg


@dg.asset
def one():
    return 1


@dg.sensor(target=[one], minimum_interval_seconds=1, default_status=dg.DefaultSensorStatus.RUNNING)
def once(context):
    if context.cursor:
        return dg.SkipReason("done")
    context.update_cursor("done")
    return dg.RunRequest()


defs = dg.Definitions(assets=[one], sensors=[once])
"""


def processes(folder: Path, env: dict[str, str], ui: int | None, code: str = DEFINITIONS) -> DagsterProcesses:
    (folder / "tiny_definitions.py").write_text(code)
    return DagsterProcesses(folder / "home", env, ui, module="tiny_definitions", cwd=folder)


@pytest.mark.timeout(180)
def test_a_sensor_launches_a_run_and_all_end(
    tmp_path: Path, python_path: dict[str, str], is_gone: Callable[[int], bool], until: Callable[..., bool]
) -> None:
    dagster = processes(tmp_path, python_path, 0)
    try:
        dagster.start()
        dagster.check()

        def runs() -> list[str]:
            query = json.dumps({"query": "{runsOrError {... on Runs {results {status}}}}"}).encode()
            request = urllib.request.Request(f"{dagster.ui_url}/graphql", query, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=10) as reply:
                return [run["status"] for run in json.load(reply)["data"]["runsOrError"]["results"]]

        assert until(lambda: runs() == ["SUCCESS"], 60)
        assert (tmp_path / "home" / "dagster" / "dagster.yaml").is_file()
        assert dagster.processes["daemon"].tail() != ""
    finally:
        dagster.stop()
    assert dagster.processes
    for process in dagster.processes.values():
        assert not process.alive
        assert is_gone(process.pid)
        assert is_gone(process.guard_pid)


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
