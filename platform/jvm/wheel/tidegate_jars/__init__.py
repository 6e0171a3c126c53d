"""The jars that a Spark server needs for Tidegate, next to those of PySpark."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def folder() -> Path:
    """Return the folder of all jars, for the class path of driver and executors: `<folder>/*`."""
    return _HERE / "jars"


def log_store() -> Path:
    """Return the jar of the log stores alone."""
    (jar,) = (_HERE / "log-store").glob("*.jar")
    return jar
