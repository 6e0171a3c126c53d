"""Build the wheels of Tidegate and of its jars into a folder: `python platform/jvm/wheels.py build/dist`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import tidegate
from tidegate.platform.cli.commands.versions import commit_of
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.lake.spark.versions import SPARKS
from tidegate.platform.local.spark.jars import OWN_JAR, package_of_jars, sha256

ROOT = Path(__file__).resolve().parents[2]
WHEEL = ROOT / "platform" / "jvm" / "wheel"
TARGET = ROOT / "platform" / "jvm" / "target"
#: setuptools builds what is in the working directory.
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
#: The time of each file in the wheels, as in our jars: the files of one commit have the same bytes.
EPOCH = "1767225600"


def main() -> None:
    """Build the wheel of the jars for each Spark whose jars are built, and that of the program. Print their paths."""
    folder, targets = Path(sys.argv[1]), built_targets()
    wheels = [build_jars(folder, target, spark) for spark, target in targets.items()]
    for path in (*wheels, build_program(folder, targets)):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def target_of(spark: str) -> Path:
    """Return the folder that Maven builds into for a Spark."""
    return TARGET if spark == SPARKS[-1] else TARGET / f"spark-{spark}"


def built_targets() -> dict[str, Path]:
    """Return the folders that Maven has built into, by their Spark."""
    return {spark: target for spark in SPARKS if ((target := target_of(spark)) / "dist" / OWN_JAR).is_file()}


def jars(target: Path = TARGET) -> dict[str, Path]:
    """Return the jars of a folder of the build by file name: those of a server, and that of the log stores.

    Raises:
        FileNotFoundError: there is no jar of this version.
    """
    found = {path.name: path for path in sorted((target / "dist").glob("*.jar"))}
    (alone,) = (target / "log-store").glob("*.jar")
    if OWN_JAR not in found:
        raise FileNotFoundError(f"no {OWN_JAR} in {target / 'dist'}: the version in pom.xml is another one")
    return found | {alone.name: alone}


def build_jars(folder: Path, target: Path, spark: str) -> Path:
    """Build the wheel of the jars for a Spark into a folder, and return its path."""
    name = package_of_jars(spark)
    with tempfile.TemporaryDirectory(prefix="tidegate-wheel-") as temporary:
        source = Path(temporary) / "source"
        shutil.copytree(WHEEL, source, ignore=shutil.ignore_patterns("__pycache__", "licences.toml"))
        shutil.copy(ROOT / "LICENSE", source)
        (source / "VERSION").write_text(tidegate.__version__)
        (source / "NOTICE").write_text("".join(notice(name, jars(target))))
        package = source / name.replace("-", "_")
        (source / "tidegate_jars").rename(package)
        settings = (source / "pyproject.toml").read_text(encoding="utf-8")
        settings = settings.replace('"tidegate-jars"', f'"{name}"').replace('"tidegate_jars"', f'"{package.name}"')
        (source / "pyproject.toml").write_text(settings, encoding="utf-8")
        for path in jars(target).values():
            place = package / ("jars" if path.parent.name == "dist" else path.parent.name)
            place.mkdir(exist_ok=True)
            shutil.copy(path, place)
        return _build_wheel(source, folder)


def build_program(folder: Path, targets: Mapping[str, Path]) -> Path:
    """Build the wheel of the program, which knows the jars of these builds by their Spark, into a folder.

    Returns its path. From a copy: the folder of an earlier build may have files that were deleted since.
    """
    with tempfile.TemporaryDirectory(prefix="tidegate-wheel-") as temporary:
        source = Path(temporary) / "source"
        passed_over = shutil.ignore_patterns("jvm", "release", "__pycache__")
        shutil.copytree(ROOT / "tidegate", source / "tidegate", ignore=passed_over)
        for file in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
            shutil.copy(ROOT / file, source)
        known = {
            spark: {name: sha256(path) for name, path in jars(target).items()} for spark, target in targets.items()
        }
        (source / "tidegate" / "platform" / "jars.json").write_text(json.dumps(known, indent=2))
        (source / "tidegate" / "platform" / "commit.txt").write_text(commit_of(ROOT))
        return _build_wheel(source, folder)


def notice(package: str, found: Mapping[str, Path]) -> Iterator[str]:
    """Return the lines that name each jar, its licence, its source and its SHA-256.

    Raises:
        BadSetting: the licence of a jar is unknown.
    """
    yield f"{package}\n\nThis wheel has the jars below, as their projects publish them. Their own LICENSE and\n"
    yield "NOTICE are in each jar, below META-INF or at its root. The text of the Apache License 2.0 is in LICENSE.\n"
    for name, path in found.items():
        licence, origin = licence_and_source(name)
        yield f"\n{name}\n  licence: {licence}\n  source: {origin}\n  SHA-256: {sha256(path)}\n"


def licence_and_source(name: str) -> tuple[str, str]:
    """Return the licence of a jar, and where its source is.

    Raises:
        BadSetting: the licence is unknown.
    """
    licences = tomllib.loads((WHEEL / "licences.toml").read_text(encoding="utf-8"))
    known = [(start, licence, origin) for licence, of in licences.items() for start, origin in of.items()]
    fitting = [each for each in known if name.startswith(each[0])]
    if not fitting:
        raise BadSetting(f"{name}: name its licence in platform/jvm/wheel/licences.toml")
    _, licence, origin = max(fitting, key=lambda each: len(each[0]))
    return licence, origin


def _build_wheel(source: Path, folder: Path) -> Path:
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # The entries of a wheel have the modes of the files, which a checkout has from the umask of its user.
    for path in source.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, folder],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
        umask=0o022,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode != 0:
        raise ChildProcessError(f"setuptools cannot build {source.name}: {done.stderr}")
    return folder / done.stdout.splitlines()[-1]


if __name__ == "__main__":
    main()
