"""Runs the fast tests with each other Python that the package is for. `make matrix` calls it.

Each Python has an environment with the packages of `requirements/dev.txt`, which is kept. A Python that this machine
does not have is named at the end, and does not count as one with which the tests pass.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.pythons import find_python, other_versions

_ROOT = Path(__file__).resolve().parents[1]
_LOCK = _ROOT / "requirements" / "dev.txt"


def run_all(
    versions: Sequence[str], find: Callable[[str], Path | None], test: Callable[[str, Path], bool]
) -> tuple[list[str], bool]:
    """Run the tests with each version that is found. Return a line for each version, and whether a test failed.

    Args:
        versions: of Python.
        find: returns the interpreter of a version.
        test: runs the tests of a version with its interpreter, and returns whether they pass.
    """
    lines, is_failed = [], False
    for version in versions:
        python = find(version)
        if python is None:
            lines.append(f"Python {version}: NOT RUN, this machine has no python{version}")
            continue
        is_good = test(version, python)
        is_failed |= not is_good
        lines.append(f"Python {version}: {'passed' if is_good else 'FAILED'}")
    return lines, is_failed


def _environment(version: str, python: Path) -> Path:
    """Return the interpreter of an environment that has the packages of the lock."""
    folder = _ROOT / f".venv-python-{version}"
    own, stamp = folder / "bin" / "python", folder / ".installed"
    lock = hashlib.sha256(_LOCK.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != lock:
        print(f"Installing the Python packages for Python {version}", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        install = [own, "-m", "pip", "install", "-q", "--no-deps"]
        subprocess.run([*install, "--require-hashes", "-r", _LOCK], check=True)
        subprocess.run([*install, "--no-build-isolation", "-e", _ROOT], check=True)
        stamp.write_text(lock)
    return own


def _passes(version: str, python: Path, arguments: Sequence[str]) -> bool:
    try:
        own = _environment(version, python)
    except subprocess.CalledProcessError as error:
        print(f"error: no environment of Python {version}: {error}", flush=True)
        return False
    began = time.monotonic()
    done = subprocess.run(
        [own, "-m", "pytest", "-p", "no:cacheprovider", "--numprocesses=auto", "tests/unit", *arguments], cwd=_ROOT
    )
    print(f"Python {version}: {time.monotonic() - began:.0f} s", flush=True)
    return done.returncode == 0


def main(arguments: Sequence[str]) -> int:
    """Run the tests, and print what ran. Return the exit code."""
    lines, is_failed = run_all(
        other_versions(), find_python, lambda version, python: _passes(version, python, arguments)
    )
    print("\n".join(["", *lines]))
    return int(is_failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
