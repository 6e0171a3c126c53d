"""`tidegate --version` prints the versions of everything that works together here."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from tidegate import __version__
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.spark.jars import jars_folder
from tidegate.platform.local.spark.java import require_java

_PACKAGES = ("tidegate-jars", "pyspark", "delta-spark", "dagster", "dagster-aws", "pyarrow", "pandas", "boto3")


def version_lines() -> list[str]:
    """Return a line for Tidegate, for each package that matters to it, and for the jars and the Java that it takes."""
    found = {"tidegate": __version__, "Python": platform.python_version()}
    found |= {name: _version(name) for name in _PACKAGES}
    for name, find in (("jars", jars_folder), ("Java", require_java)):
        try:
            found[name] = str(find())
        except UnavailableError as error:
            found[name] = f"none: {error}"
    return [f"{name:14}{text}" for name, text in found.items()]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
