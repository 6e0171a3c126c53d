"""Runs commands of Tidegate as a user does: in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SECONDS = 120


def run_json_command(home: Path, *words: str) -> Any:
    """Return the JSON object that a command prints on the running platform, or the line with which it fails."""
    return json_of(home, *words, "--home", str(home.resolve()))


def json_of(folder: Path, *words: str, environ: Mapping[str, str] | None = None) -> Any:
    """Return the JSON object that a command prints, or the line with which it fails."""
    code, text, error = run_command(folder, *words, "--json", environ=environ)
    return (error.splitlines() or [f"exit code {code}"])[-1] if code else json.loads(text)


def run_command(folder: Path, *words: str, environ: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Run a command.

    Args:
        folder: in which it runs, so that no lake.yaml of the user's folder is found.
        words: its words.
        environ: its whole environment. None: that of this process.

    Returns:
        Exit code, output, and the text of errors.
    """
    command = [sys.executable, "-m", "tidegate.platform.cli.main", *words]
    env = None if environ is None else dict(environ)
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False, cwd=folder, env=env)
    return done.returncode, done.stdout, done.stderr.strip()
