"""Every obstacle to the start of Dagster is reported in one line. The tests of the demo show start, runs and stop."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.dagster_processes import DagsterProcesses
from tidegate.platform.local.process.ports import LOOPBACK


def processes(folder: Path, env: dict[str, str], ui: int | None, code: str = "") -> DagsterProcesses:
    (folder / "tiny_definitions.py").write_text(code)
    env = env | {"PYTHONPATH": f"{folder}{os.pathsep}{env['PYTHONPATH']}"}
    return DagsterProcesses(folder / "home", env, ui, module="tiny_definitions")


@pytest.mark.timeout(120)
def test_definitions_that_do_not_load_say_why(tmp_path: Path, python_path: dict[str, str]) -> None:
    dagster = processes(tmp_path, python_path, None, "import no_such_module\n")
    with pytest.raises(UnavailableError, match=r"tiny_definitions do not load: .*no_such_module"):
        dagster.start()
    assert not any(process.alive for process in dagster.processes.values())


def test_a_workspace_file_that_is_not_there(tmp_path: Path, python_path: dict[str, str]) -> None:
    dagster = DagsterProcesses(tmp_path / "home", python_path, None, extra_workspace=tmp_path / "none.yaml")
    with pytest.raises(UnavailableError, match=r"there is no file .*none\.yaml: --workspace"):
        dagster.start()
    assert dagster.processes == {}


@pytest.mark.timeout(120)
def test_code_locations_of_a_user_are_served_too(tmp_path: Path, python_path: dict[str, str]) -> None:
    code = "import dagster as dg\ndefs = dg.Definitions(assets=[dg.AssetSpec('{0}')])\n"
    (tmp_path / "gold.py").write_text(code.format("gold"))
    workspace = tmp_path / "workspace.yaml"
    workspace.write_text("load_from: [{python_file: {relative_path: gold.py, location_name: gold}}]\n")
    env = python_path | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{python_path['PYTHONPATH']}"}
    (tmp_path / "tiny_definitions.py").write_text(code.format("bronze"))
    dagster = DagsterProcesses(tmp_path / "home", env, 0, module="tiny_definitions", extra_workspace=workspace)
    try:
        dagster.start()
        asked = Request(
            f"{dagster.ui_url}/graphql",
            json.dumps({"query": "{assetNodes{assetKey{path} repository{location{name}}}}"}).encode(),
            {"Content-Type": "application/json"},
        )
        found = json.load(urlopen(asked, timeout=60))["data"]["assetNodes"]
    finally:
        dagster.stop()
    located = {node["assetKey"]["path"][0]: node["repository"]["location"]["name"] for node in found}
    assert located == {"bronze": "tidegate", "gold": "gold"}


def test_a_taken_ui_port(tmp_path: Path, python_path: dict[str, str]) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        dagster = processes(tmp_path, python_path, taken.getsockname()[1])
        with pytest.raises(UnavailableError, match="--ui-port"):
            dagster.start()
    assert dagster.processes == {}
