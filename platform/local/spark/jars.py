"""Finds the folder of jars, and the archive of their classes.

With the archive the JVM need not read and verify the classes again at each start (JEP 350). Spark, Delta and the AWS
SDK are some twenty thousand classes in three hundred jars. Without the archive a server spends its first minute on
reading them (decision 23). `make class-archive` writes the archive; it is optional.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from tidegate import __version__
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.spark.versions import SPARKS, how_to_build, installed_spark, spark_minor, spark_of_jar
from tidegate.platform.local.spark.java import require_java

#: The jar of this project, in the version of this program.
OWN_JAR = f"tidegate-jvm-{__version__}.jar"
_PLATFORM = Path(__file__).resolve().parents[2]
_TARGET = _PLATFORM / "jvm" / "target"
#: Written into the wheel by `make wheels`; a checkout has none.
_LIST = _PLATFORM / "jars.json"

_NAME = "spark-classes.jsa"
#: JVM option of a server whose classes will be archived.
RECORDING = "-XX:+RecordDynamicDumpInfo"


def jars_folder() -> Path:
    """Return the folder of the jars that Spark needs besides its own: `TIDEGATE_JARS`, or that of `own_jars`.

    Raises:
        UnavailableError: the folder is missing, has no Delta jar, or has the jars of another version.
    """
    if override := os.environ.get("TIDEGATE_JARS"):
        cure = "TIDEGATE_JARS names this folder: unset it, or name one that `tidegate jars export` filled"
        return _check_folder(Path(override).resolve(), cure, spark_minor(installed_spark()))
    return own_jars(spark_minor(installed_spark()))


def own_jars(spark: str) -> Path:
    """Return the folder of the jars that belong to this program: of their package, or of `make jars`.

    Args:
        spark: minor version that the jars are for.

    Raises:
        UnavailableError: the folder is missing, has no Delta jar, or has the jars of another version or Spark.
    """
    name = package_of_jars(spark)
    package, install = _package(name), f"`pip install '{name}=={__version__}'`"
    if package is None:
        return _check_folder(built_jars(spark), f"run {install}; in a checkout {how_to_build(spark)}", spark)
    try:
        installed = version(name)
    except PackageNotFoundError:
        installed = "of no version"
    if installed != __version__:
        raise UnavailableError(
            f"tidegate {__version__} needs the jars of its own version, and {name} {installed} is installed: "
            f"run {install}"
        )
    return _check_folder(package / "jars", f"run {install} with `--force-reinstall`", spark)


def package_of_jars(spark: str) -> str:
    """Return the package that has the jars for a Spark: `tidegate-jars` for the newest one."""
    return "tidegate-jars" if spark == SPARKS[-1] else f"tidegate-jars-spark-{spark.replace('.', '-')}"


def log_store_jar() -> Path:
    """Return the jar of the log stores alone.

    Raises:
        UnavailableError: there is none.
    """
    name = package_of_jars(SPARKS[-1])
    jar = (_package(name) or _TARGET) / "log-store" / OWN_JAR.replace(".jar", "-log-store.jar")
    if not jar.is_file():
        raise UnavailableError(
            f"there is no {jar}: run `pip install '{name}=={__version__}'`; in a checkout `make jars`"
        )
    return jar


@cache
def known_jars() -> Mapping[str, Mapping[str, str]]:
    """Return the SHA-256 of each jar that this program was built with, by Spark and file name.

    A checkout has none.
    """
    try:
        found: dict[str, dict[str, str]] = json.loads(_LIST.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found


def known_jars_with(delta: str) -> Mapping[str, str]:
    """Return those of `known_jars` that are for the Spark of a jar of Delta.

    A name without a Spark is taken for the newest one.
    """
    return known_jars().get(spark_of_jar(delta) or SPARKS[-1], {})


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def other_build(found: str, wanted: str) -> str:
    """Return what a person reads about a jar of the right name, and other bytes."""
    return f"another build of {OWN_JAR} (SHA-256 {found[:12]}…) than this program was built with ({wanted[:12]}…)"


def _package(name: str) -> Path | None:
    spec = find_spec(name.replace("-", "_"))
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _check_folder(folder: Path, cure: str, spark: str) -> Path:
    delta = sorted(path.name for path in folder.glob("delta-spark_*.jar"))
    if not delta:
        raise UnavailableError(f"the JVM jars are missing: no delta-spark jar in {folder}; {cure}")
    if spark not in SPARKS:
        raise UnavailableError(f"there are jars for Spark {' and '.join(SPARKS)}, and pyspark is {installed_spark()}")
    if (other := spark_of_jar(delta[0])) not in ("", spark):
        raise UnavailableError(
            f"the jars in {folder} are for Spark {other}, and those for Spark {spark} are needed: install "
            f"{package_of_jars(spark)}, or in a checkout run {how_to_build(spark)}, and let TIDEGATE_JARS name a "
            "folder with its jars"
        )
    ours = sorted(path.name for path in folder.glob("tidegate-jvm-*.jar"))
    if ours != [OWN_JAR]:
        raise UnavailableError(
            f"{folder} has {' and '.join(ours) or 'no jar of Tidegate'}, this program needs {OWN_JAR} alone; {cure}"
        )
    wanted = known_jars_with(delta[0]).get(OWN_JAR)
    if wanted is not None and (found := sha256(folder / OWN_JAR)) != wanted:
        raise UnavailableError(f"{folder} has {other_build(found, wanted)}; {cure}")
    return folder


def built_jars(spark: str) -> Path:
    """Return the folder in which `make jars` puts the jars for a Spark, by its first two numbers."""
    return _TARGET / "dist" if spark == SPARKS[-1] else _TARGET / f"spark-{spark}" / "dist"


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
