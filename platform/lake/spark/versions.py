"""The versions of Spark that the jars are built for: each has a profile in `platform/jvm/pom.xml`."""

from __future__ import annotations

import re
from importlib.metadata import version

#: Minor versions, oldest first. The last is that of the package's own pyspark.
SPARKS = ("4.1", "4.2")


def installed_spark() -> str:
    """Return the version of this Python's pyspark."""
    return version("pyspark")


def spark_minor(version: str) -> str:
    """Return the first two numbers of a version: 4.1 of `4.1.1-amzn-0`."""
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else version


def spark_of_jar(jar: str) -> str:
    """Return the Spark of a jar of Delta: 4.1 of `delta-spark_4.1_2.13-4.4.0.jar`; empty if its name has none."""
    found = re.match(r"delta-spark_(\d+\.\d+)_", jar)
    return found[1] if found else ""


def how_to_build(minor: str) -> str:
    """Return the command that builds the jars for a Spark."""
    return "`make jars`" if minor == SPARKS[-1] else f"`make jars SPARK={minor}`"
