"""`tidegate --version` on a machine that has everything, and on one without jars and Java."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidegate import __version__
from tidegate.platform.cli.commands.versions import _FORMATS, commit_of, version_lines
from tidegate.platform.cli.main import app
from tidegate.platform.local.spark.jars import OWN_JAR


def test_it_names_what_works_together_and_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDEGATE_JARS", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    lines = dict(line.split(None, 1) for line in version_lines())
    assert lines["tidegate"] == __version__
    assert {"Python", "pyspark", "delta-spark", "dagster", "jars", "Java"} <= set(lines)
    assert re.fullmatch(r"[0-9a-f]{40}( with changes)?|unknown", lines["commit"])
    assert lines["formats"] == "batch 1, manifest 1, request to forget 1, export 1, history 1"
    assert lines["jars"].startswith("none: the JVM jars are missing")
    assert lines["Java"].startswith("none: no Java for Spark")
    printed = CliRunner().invoke(app, ["--version"])
    assert (printed.exit_code, printed.output.splitlines()) == (0, version_lines())


def test_it_names_the_jars_by_their_versions_and_ours_by_its_hash(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / OWN_JAR).write_bytes(b"ours")
    (tmp_path / "delta-spark_4.2_2.13-4.4.0.jar").touch()
    monkeypatch.setenv("TIDEGATE_JARS", str(tmp_path))
    lines = dict(line.split(None, 1) for line in version_lines())
    digest = hashlib.sha256(b"ours").hexdigest()
    said = f"{tmp_path}: delta-spark_4.2_2.13-4.4.0, {OWN_JAR} of SHA-256 {digest}, of a checkout"
    assert lines["jars"] == said


def test_a_commit_is_named_with_whether_there_are_changes(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == "unknown"
    for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        named = ["-c", "user.name=n", "-c", "user.email=n@example.org", *arguments]
        subprocess.run(["git", "-C", tmp_path, *named], check=True, capture_output=True, timeout=30)
    (below := tmp_path / "site-packages").mkdir()
    assert commit_of(below) == "unknown", "the commit of another project"
    head = commit_of(tmp_path)
    assert re.fullmatch("[0-9a-f]{40}", head)
    (tmp_path / "new").touch()
    assert commit_of(tmp_path) == f"{head} with changes"


def test_every_format_with_a_number_is_named() -> None:
    """A new one is added here, so that two versions can be compared."""
    core = Path(__file__).parents[5] / "platform" / "core"
    numbered = [path for path in core.rglob("*.py") if re.search(r"^FORMAT = \d+$", path.read_text(), re.MULTILINE)]
    assert len(numbered) == len(_FORMATS)
