"""Where the JVM side is: the JDK and the folder of built jars."""

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
    """The folder of all jars that Spark needs on top of its own: `TIDEGATE_JARS`, or what `make jars` built.

    Raises:
        LocalStackError: It is missing or has no Delta jar.
    """
    override = os.environ.get("TIDEGATE_JARS")
    folder = Path(override).resolve() if override else _DIST
    if not any(folder.glob("delta-spark_*.jar")):
        source = (
            "TIDEGATE_JARS points at it: correct or unset it"
            if override
            else "run `make jars` in a checkout, and elsewhere set TIDEGATE_JARS to the folder that it fills"
        )
        raise LocalStackError(f"the JVM jars are missing: no delta-spark jar in {folder}; {source}")
    return folder


def require_java() -> Path:
    """The `java` that Spark will run on: of JAVA_HOME, else of PATH.

    Raises:
        LocalStackError: There is none, or it is too old.
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
