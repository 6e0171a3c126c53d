"""One sentence names what is missing on a machine, before anything else fails."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
Make = Callable[..., str]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that runs a target with only the named tools on the path, some of them fakes.

    It returns the error.
    """
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "make", "find", "grep", "test", "touch"):
        (tools / name).symlink_to(str(shutil.which(name)))

    def run(target: str, *variables: str, **made_up: str) -> str:
        for name, script in made_up.items():
            (tools / name).write_text(f"#!{shutil.which('sh')}\n{script}\n")
            (tools / name).chmod(0o755)
        done = subprocess.run(
            ["make", "-s", "-C", str(ROOT), target, f"VENV={tmp_path / 'venv'}", *variables],
            env={"PATH": str(tools)},
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 2
        lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("make")]
        assert len(lines) == 1, lines
        return lines[0]

    return run


def test_no_jdk(make: Make) -> None:
    assert make("require-jvm", mvn="") == (
        "error: no JDK found: install a JDK 17 (Debian: apt-get install openjdk-17-jdk-headless)"
    )


def test_an_old_jdk(make: Make) -> None:
    said = make("require-jvm", javac="echo javac 11.0.2", mvn="")
    assert said == "error: a JDK 17 or newer is needed, this is javac 11.0.2"


def test_no_maven(make: Make) -> None:
    said = make("require-jvm", javac="echo javac 21.0.1")
    assert said == "error: no Maven found: install Maven 3.8 or newer (Debian: apt-get install maven)"


def test_another_python(make: Make, tmp_path: Path) -> None:
    other = 'case "$1" in --version) echo Python 3.9.2;; *) exit 1;; esac'
    said = make(f"{tmp_path / 'venv'}/bin/.runtime", python3=other)
    assert said == (
        "error: Python 3.11 is needed, python3 is Python 3.9.2: install it, or run make PYTHON=/path/to/python3.11"
    )


def test_no_chromium_and_not_root(make: Make) -> None:
    said = make("chromium", id="echo 1000")
    assert said == "error: the browser tests need Chromium: install it (Debian: apt-get install chromium)"


def test_no_postgresql_and_not_root(make: Make, tmp_path: Path) -> None:
    said = make("postgresql", f"POSTGRESQL={tmp_path}", id="echo 1000", chromium="")
    assert said == "error: a test needs PostgreSQL: install it (Debian: apt-get install postgresql)"
