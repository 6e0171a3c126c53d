"""Finds the JDK, the folder of built jars, and the archive of their classes.

With the archive the JVM need not read and verify the classes again at each start (JEP 350). Spark, Delta and the AWS
SDK are some twenty thousand classes in three hundred jars. Without the archive a server spends its first minute on
reading them (decision 23). `make class-archive` writes the archive; it is optional.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tidegate.platform.core.errors import UnavailableError

_DIST = Path(__file__).resolve().parents[2] / "jvm" / "target" / "dist"
_OLDEST_JAVA = 17

_NAME = "spark-classes.jsa"
#: JVM option of a server whose classes will be archived.
RECORDING = "-XX:+RecordDynamicDumpInfo"


def jars_folder() -> Path:
    """Return the folder of the jars that Spark needs besides its own: `TIDEGATE_JARS`, or the output of `make jars`.

    Raises:
        UnavailableError: the folder is missing or has no Delta jar.
    """
    override = os.environ.get("TIDEGATE_JARS")
    folder = Path(override).resolve() if override else _DIST
    if not any(folder.glob("delta-spark_*.jar")):
        source = (
            "TIDEGATE_JARS names this folder: correct or unset it"
            if override
            else "run `make jars` in a checkout; elsewhere set TIDEGATE_JARS to a folder with these jars"
        )
        raise UnavailableError(f"the JVM jars are missing: no delta-spark jar in {folder}; {source}")
    return folder


def require_java() -> Path:
    """Return the `java` that Spark will run on, from JAVA_HOME or else from PATH.

    Raises:
        UnavailableError: there is no Java, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not Path(found).exists():
        where = f"JAVA_HOME={home} has no bin/java" if home else "no `java` on PATH"
        raise UnavailableError(f"no Java found ({where}): install JDK 17, e.g. `apt-get install openjdk-17-jdk`")
    try:
        text = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(f"{found} does not run ({error}): install JDK 17") from None
    version = re.search(r'version "(?:1\.)?(\d+)', text)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        raise UnavailableError(f"{found} is {text.splitlines()[0]}: Spark 4 needs JDK 17 or newer, install it")
    return Path(found)


def class_archive(jars: Path) -> Path | None:
    """Return the archive of a folder of jars, None if there is none."""
    path = jars / _NAME
    return path if path.is_file() else None


def class_archive_options(archive: Path) -> list[str]:
    """Return the JVM options that use an archive. The JVM silently ignores an archive that does not fit its jars."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def write_class_archive(jars: Path, pid: int, deadline: float = 120.0) -> Path:
    """Make a Spark server write an archive of the classes it has loaded so far.

    Args:
        jars: folder of the jars that the server runs with.
        pid: process id of the server, which was started with `RECORDING` and without an archive.
        deadline: seconds.

    Raises:
        UnavailableError: no archive was written.
    """
    path = jars / _NAME
    path.unlink(missing_ok=True)
    command = [str(require_java().with_name("jcmd")), str(pid), "VM.cds", "dynamic_dump", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=deadline)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"the Spark server's classes could not be archived: {error}") from None
    if not path.is_file():
        raise UnavailableError(f"the Spark server's classes could not be archived: {done.stdout}{done.stderr}".strip())
    return path
