"""The archive of the Spark server's classes: what the JVM has read and verified once it need not again (JEP 350).

Spark, Delta and the AWS SDK are some twenty thousand classes in three hundred jars. Without it a server spends its
first minute on reading them (decision 23). `make class-archive` writes it; a server that finds none starts slower.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tidegate.platform.local.errors import LocalStackError
from tidegate.platform.local.spark.jars import require_java

_NAME = "spark-classes.jsa"
#: What a server has to be started with so that its classes can be written.
RECORDING = {"spark.driver.defaultJavaOptions": "-XX:+RecordDynamicDumpInfo"}


def class_archive(jars: Path) -> Path | None:
    """The archive that belongs to a folder of jars, if it was written."""
    path = jars / _NAME
    return path if path.is_file() else None


def class_archive_options(archive: Path) -> list[str]:
    """What makes a JVM use an archive; one that does not fit its jars is ignored, without a word."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def write_class_archive(jars: Path, pid: int, deadline: float = 120.0) -> Path:
    """Let a Spark server write the classes it has loaded so far.

    Args:
        jars: the folder of jars that it runs with.
        pid: its process, started with ``RECORDING`` and without an archive.
        deadline: seconds.

    Raises:
        LocalStackError: it did not.
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
