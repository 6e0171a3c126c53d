"""The files of the project, as git knows them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked() -> list[Path]:
    """Return every file that git knows or would take, changes included."""
    found = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        timeout=30,
        check=True,
    )
    return [ROOT / name for name in found.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
