"""The other Pythons that the package is for, as far as this machine has them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
#: Where tools that install several Pythons keep them.
_FOLDERS = (".pyenv/versions/{}.*/bin", ".local/share/uv/python/cpython-{}.*/bin")


def other_versions() -> list[str]:
    """Return the versions that `pyproject.toml` names but this one's, oldest first."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [found[1] for each in project["classifiers"] if (found := re.search(r":: (3\.\d+)$", each))]
    return [version for version in named if version != f"{sys.version_info.major}.{sys.version_info.minor}"]


def find_python(version: str) -> Path | None:
    """Return the first interpreter of a version that works; None if this machine has none."""
    for python in _candidates(version):
        asked = "import sys; print('%d.%d' % sys.version_info[:2])"
        try:
            said = subprocess.run([python, "-c", asked], capture_output=True, text=True, timeout=60, check=False)
        except OSError:
            continue
        # A shim of pyenv is there and ends with an error.
        if said.returncode == 0 and said.stdout.strip() == version:
            return python
    return None


def _candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for pattern in _FOLDERS:
        folders += sorted(Path.home().glob(pattern.format(version)), reverse=True)
    yield from (folder / name for folder in folders if (folder / name).is_file())
