"""`tidegate --version` on a machine that has everything, and on one without jars and Java."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidegate import __version__
from tidegate.platform.cli.commands.versions import version_lines
from tidegate.platform.cli.main import app


def test_it_names_what_works_together_and_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDEGATE_JARS", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    lines = dict(line.split(None, 1) for line in version_lines())
    assert lines["tidegate"] == __version__
    assert {"Python", "pyspark", "delta-spark", "dagster", "jars", "Java"} <= set(lines)
    assert lines["jars"].startswith("none: the JVM jars are missing")
    assert lines["Java"].startswith("none: no Java for Spark")
    printed = CliRunner().invoke(app, ["--version"])
    assert (printed.exit_code, printed.output.splitlines()) == (0, version_lines())
