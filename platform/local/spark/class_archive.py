"""The archive of the Spark server's classes: the JVM need not read and verify them again at each start (JEP 350).

Spark, Delta and the AWS SDK are some twenty thousand classes in three hundred jars. Without the archive a server spends
its first minute on reading them (decision 23). `make class-archive` writes the archive; it is optional.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tidegate.platform.local.errors import LocalStackError
from tidegate.platform.local.spark.jars import require_java

_NAME = "spark-classes.jsa"
#: JVM option of a server whose classes will be archived.
RECORDING = "-XX:+RecordDynamicDumpInfo"


def class_archive(jars: Path) -> Path | None:
    """Returns the archive of a folder of jars, None if there is none."""
    path = jars / _NAME
    return path if path.is_file() else None


def class_archive_options(archive: Path) -> list[str]:
    """Returns the JVM options that use an archive. The JVM silently ignores an archive that does not fit its jars."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def write_class_archive(jars: Path, pid: int, deadline: float = 120.0) -> Path:
    """Make a Spark server write an archive of the classes it has loaded so far.

    Args:
        jars: folder of the jars that the server runs with.
        pid: process id of the server, which was started with `RECORDING` and without an archive.
        deadline: seconds.

    Raises:
        LocalStackError: no archive was written.
    """
    path = jars / _NAME
    path.unlink(missing_ok=True)
    command = [str(require_java().with_name("jcmd")), str(pid), "VM.cds", "dynamic_dump", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=deadline)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LocalStackError(f"the Spark server's classes could not be archived: {error}") from None
    if not path.is_file():
        raise LocalStackError(f"the Spark server's classes could not be archived: {done.stdout}{done.stderr}".strip())
    return path
