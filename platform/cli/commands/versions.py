"""`tidegate --version` prints the versions of everything that works together here."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tidegate import __version__
from tidegate.platform.core.bronze import batch, manifest
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.core.forgetting import request
from tidegate.platform.core.silver import export_manifest
from tidegate.platform.core.storage import history
from tidegate.platform.local.spark.jars import OWN_JAR, jars_folder, known_jars_with, sha256
from tidegate.platform.local.spark.java import require_java

_PACKAGES = ("tidegate-jars", "pyspark", "delta-spark", "dagster", "dagster-aws", "pyarrow", "pandas", "boto3")
_PLATFORM = Path(__file__).resolve().parents[2]
#: Written into the wheel by `make wheels`; a checkout has none.
_COMMIT = _PLATFORM / "commit.txt"
#: The formats of objects below the lake root that have a number. A version reads its own and older ones.
_FORMATS = {
    "batch": batch.FORMAT,
    "manifest": manifest.FORMAT,
    "request to forget": request.FORMAT,
    "export": export_manifest.FORMAT,
    "history": history.FORMAT,
}


def version_lines() -> list[str]:
    """Return a line for Tidegate, for each package that matters to it, and for the jars and the Java that it takes."""
    commit = _COMMIT.read_text(encoding="utf-8").strip() if _COMMIT.is_file() else commit_of(_PLATFORM.parent)
    found = {"tidegate": __version__, "commit": commit, "Python": platform.python_version()}
    found |= {name: _version(name) for name in _PACKAGES}
    for name, find in (("jars", _jars), ("Java", require_java)):
        try:
            found[name] = str(find())
        except UnavailableError as error:
            found[name] = f"none: {error}"
    found["formats"] = ", ".join(f"{name} {number}" for name, number in _FORMATS.items())
    return [f"{name:14}{text}" for name, text in found.items()]


def commit_of(folder: Path) -> str:
    """Return the commit of a checkout, and whether it has other changes; `unknown` if the folder is none.

    An installed package may be below a checkout of something else.
    """
    if not (folder / ".git").exists():
        return "unknown"
    try:
        head, changed = (
            subprocess.run(
                ["git", "-C", folder, *arguments], check=True, capture_output=True, text=True, timeout=10
            ).stdout.strip()
            for arguments in (("rev-parse", "HEAD"), ("status", "--porcelain"))
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return f"{head} with changes" if changed else head


def _jars() -> str:
    """Return the folder, the versions in its names, and the hash of our own jar.

    Raises:
        UnavailableError: there are no jars, or those of another version.
    """
    folder = jars_folder()
    delta = min(path.name for path in folder.glob("delta-spark_*.jar"))
    digest = sha256(folder / OWN_JAR)
    built = "as built with this program" if known_jars_with(delta) else "of a checkout"
    return f"{folder}: {delta.removesuffix('.jar')}, {OWN_JAR} of SHA-256 {digest}, {built}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
