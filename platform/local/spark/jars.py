"""Finds the JDK and the folder of built jars."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tidegate.platform.local.errors import LocalStackError

_DIST = Path(__file__).resolve().parents[2] / "jvm" / "target" / "dist"
_OLDEST_JAVA = 17


def jars_folder() -> Path:
    """Returns the folder of the jars that Spark needs besides its own: `TIDEGATE_JARS`, or the output of `make jars`.

    Raises:
        LocalStackError: the folder is missing or has no Delta jar.
    """
    override = os.environ.get("TIDEGATE_JARS")
    folder = Path(override).resolve() if override else _DIST
    if not any(folder.glob("delta-spark_*.jar")):
        source = (
            "TIDEGATE_JARS names this folder: correct or unset it"
            if override
            else "run `make jars` in a checkout; elsewhere set TIDEGATE_JARS to a folder with these jars"
        )
        raise LocalStackError(f"the JVM jars are missing: no delta-spark jar in {folder}; {source}")
    return folder


def require_java() -> Path:
    """Returns the `java` that Spark will run on, from JAVA_HOME or else from PATH.

    Raises:
        LocalStackError: there is no Java, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not Path(found).exists():
        where = f"JAVA_HOME={home} has no bin/java" if home else "no `java` on PATH"
        raise LocalStackError(f"no Java found ({where}): install JDK 17, e.g. `apt-get install openjdk-17-jdk`")
    try:
        text = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise LocalStackError(f"{found} does not run ({error}): install JDK 17") from None
    version = re.search(r'version "(?:1\.)?(\d+)', text)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        raise LocalStackError(f"{found} is {text.splitlines()[0]}: Spark 4 needs JDK 17 or newer, install it")
    return Path(found)
