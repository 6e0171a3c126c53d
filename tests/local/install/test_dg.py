"""Dagster's command `dg` on a project of a reader: it lists, scaffolds and checks a lake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

TYPE = "tidegate.LakeComponent"
PROJECT = """
[project]
name = "shop"
version = "0.1"
requires-python = ">=3.11"
dependencies = ["dagster", "tidegate"]

[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "shop"
"""
DEFINITIONS = """
from pathlib import Path

import dagster as dg


@dg.definitions
def defs() -> dg.Definitions:
    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
"""
#: An asset of the project next to the lake.
OWN = """
import dagster as dg


@dg.asset(deps=["bronze"])
def report() -> None: ...
"""
TABLE = {
    "name": "orders",
    "prefix": "s3://landing/orders/",
    "silver": {"keys": ["id"], "order": "at", "every": "${EVERY:-60}"},
}


class Project:
    """A project as `dg` lays it out, in the environment of this Python."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.defs = folder / "shop", folder / "shop" / "src" / "shop" / "defs"
        self.defs.mkdir(parents=True)
        (self.folder / "pyproject.toml").write_text(PROJECT)
        (self.defs.parent / "definitions.py").write_text(DEFINITIONS)
        (self.defs / "report.py").write_text(OWN)
        for package in (self.defs.parent, self.defs):
            (package / "__init__.py").touch()
        home = folder / "home"
        home.mkdir()
        (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
        given = {"PYTHONPATH": "src", "HOME": str(home), "DAGSTER_HOME": str(home), "PYTHONWARNINGS": "ignore"}
        self._environ = {**os.environ, **given, "SPARK_REMOTE": "sc://127.0.0.1:1", "VIRTUAL_ENV": sys.prefix}

    def dg(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `dg` in the project."""
        command = [str(Path(sys.executable).parent / "dg"), *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self._environ, capture_output=True, text=True, timeout=120, check=False
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_dg_lists_scaffolds_and_checks_a_lake(project: Project) -> None:
    listed = project.dg("list", "components", "--package", "tidegate", "--json")
    assert listed.returncode == 0, listed.stderr
    assert [item["key"] for item in json.loads(listed.stdout)["items"]] == [TYPE]

    options = ("--bucket", "landing", "--queue", "events", "--root", "s3://my-lake/lake")
    made = project.dg("scaffold", "defs", TYPE, "lake", *options)
    assert made.returncode == 0, made.stderr
    folder = project.defs / "lake"
    assert yaml.safe_load((folder / "defs.yaml").read_text()) == {"type": TYPE, "attributes": {"lake": "lake.yaml"}}
    lake = yaml.safe_load((folder / "lake.yaml").read_text())

    # The lake moves into defs.yaml, first with a mistake.
    (folder / "lake.yaml").unlink()
    component = {"type": TYPE, "attributes": {"inline": {**lake, "tabels": [TABLE]}}}
    (folder / "defs.yaml").write_text(yaml.safe_dump(component, sort_keys=False))
    wrong = project.dg("check", "yaml")
    assert wrong.returncode == 1
    line = (folder / "defs.yaml").read_text().splitlines().index("    tabels:") + 1
    assert f"{folder / 'defs.yaml'}:{line} - {TYPE} attributes.inline" in wrong.stdout
    assert "'tabels' was unexpected" in wrong.stdout

    component["attributes"] = {"inline": {**lake, "tables": [TABLE]}}
    (folder / "defs.yaml").write_text(yaml.safe_dump(component, sort_keys=False))
    right = project.dg("check", "defs")
    assert right.returncode == 0, right.stdout + right.stderr
    assert "All component YAML validated successfully." in right.stdout
    assert "All definitions loaded successfully." in right.stdout
