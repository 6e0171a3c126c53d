"""`make release`: everything of a release in one folder, with the same bytes from every build of one commit.

A build takes what the commit has, from a clone of its own: files that git ignores or does not know are not in it.
`make release-check` builds twice, from the Java sources on, and compares. It needs no tag.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.metadata import version as version_of
from pathlib import Path

import yaml

import tidegate
from tidegate.platform.cloud.template import stack_template
from tidegate.platform.cloud.trust import Trust
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import TidegateError, UnavailableError
from tidegate.platform.jvm.maven_lock import REPOSITORY, differences, read_lock, strangers
from tidegate.platform.jvm.wheels import ROOT, build_jars, build_program
from tidegate.platform.lake.spark.versions import SPARKS
from tidegate.platform.release.sbom import write_boms

FOLDER = ROOT / "build" / "release"
SUMS = "SHA256SUMS"
_MAVEN = ["mvn", "-q", "-B", "-ntp", "--strict-checksums", f"-Dmaven.repo.local={REPOSITORY}", "package", "-DskipTests"]
#: The place of the byte of gzip's header that names the system, and what says that it is unknown.
_GZIP_SYSTEM, _UNKNOWN_SYSTEM = 9, 255
#: Folders that a release has as an archive if the checkout has them, by the name of the archive.
_ARCHIVES = {"recipes": "deploy", "chart": "deploy/helm/tidegate"}


def main(*arguments: str) -> int:
    """Build a release, or build twice and compare with `--check`. Returns the exit code.

    `--build FOLDER` builds from the files of this checkout: the first two run it in a clone.
    """
    try:
        match arguments:
            case ("--check",):
                return _check()
            case ("--build", folder):
                build(Path(folder), tidegate.__version__)
                return 0
        return _release(tidegate.__version__)
    except (TidegateError, ChildProcessError, subprocess.SubprocessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _check() -> int:
    with tempfile.TemporaryDirectory(prefix="tidegate-release-") as folder:
        first, second = (sums(build_commit(Path(folder) / name)) for name in ("first", "second"))
    differing = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    for name in differing:
        print(f"error: two builds of this commit differ in {name}", file=sys.stderr)
    print(f"{len(first)} files, {len(differing)} of them differ between two builds")
    return 1 if differing else 0


def _release(version: str) -> int:
    if found := list(problems(ROOT, version)):
        for line in found:
            print(f"error: {line}", file=sys.stderr)
        return 1
    build_commit(FOLDER)
    print((FOLDER / SUMS).read_text(encoding="utf-8"), end="")
    return 0


def problems(root: Path, version: str) -> Iterator[str]:
    """Yield a sentence for each reason why a checkout is not a release."""
    if changed := _git(root, "status", "--porcelain").splitlines():
        yield f"{len(changed)} files are not as committed, {changed[0][3:]} for one: commit or remove the changes"
    tags = [tag for tag in _git(root, "tag", "--points-at", "HEAD").split() if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    if not tags:
        yield f"this commit has no tag of a version: run `git tag v{version}`, or check out the tag"
    elif tags != [f"v{version}"]:
        yield f"this commit has the tag {' and '.join(tags)}, and the package has the version {version}: correct one"
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if notes(changelog, version) is None:
        yield f"CHANGELOG.md has no section `## {version}`: move what is released there from Unreleased"
    elif (notes(changelog, "Unreleased") or "").strip():
        yield f"CHANGELOG.md has changes in Unreleased, which this commit has: move them to `## {version}`"


def notes(changelog: str, version: str) -> str | None:
    """Return what the changelog has of a version; None if it has no such section."""
    sections = re.split(r"^## (.+)\n", changelog, flags=re.MULTILINE)
    return dict(zip(sections[1::2], sections[2::2], strict=True)).get(version)


def build_commit(folder: Path) -> Path:
    """Build all files of a release from a clone of this commit, by the commit's own code, and return their folder.

    Raises:
        ChildProcessError: it cannot be built. What is wrong was printed.
    """
    with tempfile.TemporaryDirectory(prefix="tidegate-source-") as temporary:
        source = clone_of(ROOT, Path(temporary).resolve() / "source")
        command = [sys.executable, "-m", "tidegate.platform.release.release", "--build", str(folder)]
        environ = {**os.environ, "PYTHONPATH": str(source)}
        done = subprocess.run(command, cwd=source, env=environ, umask=0o022, check=False, timeout=3600)
    if done.returncode != 0:
        raise ChildProcessError("the release was not built")
    return folder


def clone_of(root: Path, folder: Path) -> Path:
    """Make a clone of a checkout at its commit, with the bytes that git keeps, and return it."""
    options = ("--quiet", "--shared", "--no-checkout", "--config", "core.autocrlf=false")
    _git(root, "clone", *options, str(root), str(folder))
    _git(folder, "checkout", "--quiet", "--detach", _git(root, "rev-parse", "HEAD").strip())
    return folder


def build(folder: Path, version: str) -> Path:
    """Build all files of a release into a folder that has nothing else, and return it.

    Raises:
        ChildProcessError: Maven or setuptools cannot build.
        UnavailableError: a jar is not the listed one.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    epoch = int(_git(ROOT, "log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory(prefix="tidegate-jars-") as temporary:
        targets = {spark: _java(Path(temporary) / spark, spark) for spark in SPARKS}
        wheels = [build_jars(folder, target, spark) for spark, target in targets.items()]
        wheels.append(build_program(folder, targets))
        target = targets[SPARKS[-1]]
        write_boms(folder, targets)
        (alone,) = (target / "log-store").glob("*.jar")
        shutil.copy(alone, folder)
    lock, runnable = "requirements/deploy.txt", runnable_files(ROOT)
    context = {f"build/dist/{wheel.name}": wheel for wheel in wheels} | {
        lock: ROOT / lock,
        ".dockerignore": ROOT / ".dockerignore",
    }
    context |= {f"deploy/{name}": path for name, path in _tracked_files("deploy/image").items()}
    archive(folder / f"tidegate-image-context-{version}.tar.gz", context, epoch, runnable)
    for name, place in _ARCHIVES.items():
        if files := _tracked_files(place):
            archive(folder / f"tidegate-{name}-{version}.tar.gz", files, epoch, runnable)
    archive(folder / f"tidegate-site-{version}.tar.gz", _site_files(version), epoch)
    template = stack_template(example_lake(), (), Trust.parse("ec2"))
    (folder / f"tidegate-stack-example-{version}.json").write_text(
        f"{json.dumps(template, indent=2)}\n", encoding="utf-8"
    )
    shutil.copy(ROOT / lock, folder / f"tidegate-requirements-{version}.txt")
    said = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    (folder / "NOTES.md").write_text(f"# Tidegate {version}\n{said or ''}", encoding="utf-8")
    (folder / "BUILD").write_text("".join(tool_versions()), encoding="utf-8")
    lines = (f"{digest}  {name}\n" for name, digest in sums(folder).items())
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    return folder


def tool_versions() -> Iterator[str]:
    """Yield a line for the commit and for each tool that decides on bytes: other versions may write others."""
    yield f"commit {_git(ROOT, 'rev-parse', 'HEAD')}"
    yield f"Python {platform.python_version()}\n"
    yield f"setuptools {version_of('setuptools')}\n"
    yield f"zlib {zlib.ZLIB_RUNTIME_VERSION}\n"
    said = subprocess.run(["mvn", "-B", "-v"], check=True, capture_output=True, text=True, timeout=60).stdout
    for pattern, name in ((r"Apache Maven (\d[\w.-]*)", "Maven"), (r"Java version: (.+?)(?:, runtime|$)", "Java")):
        found = re.search(pattern, said, re.MULTILINE)
        yield f"{name} {found[1] if found else 'of an unknown version'}\n"


def example_lake() -> LakeConfig:
    """Return the lake.yaml of the checkout, with the queue by its name, as its comment says for AWS."""
    text = (
        (ROOT / "lake.yaml").read_text(encoding="utf-8").replace("url: ${TIDEGATE_QUEUE_URL}", "name: tidegate-events")
    )
    return LakeConfig.model_validate(yaml.safe_load(text))


def sums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a folder, by name, without the list of them."""
    files = (path for path in sorted(folder.iterdir()) if path.name != SUMS)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def archive(path: Path, files: Mapping[str, Path], epoch: int, runnable: Collection[Path] = ()) -> None:
    """Write an archive of files by their names in it. Whose they are, when, and in which order leaves no trace.

    Args:
        epoch: the time of each file in it.
        runnable: files that can be run in it, whatever they can be on this disk.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, file in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            body = file.read_bytes()
            entry.size, entry.mtime = len(body), epoch
            entry.mode = 0o755 if file in runnable else 0o644
            tar.addfile(entry, io.BytesIO(body))
    # The header of gzip would have the time, the name of the file and the system.
    compressed = bytearray(gzip.compress(packed.getvalue(), mtime=0))
    compressed[_GZIP_SYSTEM] = _UNKNOWN_SYSTEM
    path.write_bytes(compressed)


def runnable_files(root: Path) -> frozenset[Path]:
    """Return the files of a checkout that git says can be run."""
    listed = (entry.split("\t", 1) for entry in _git(root, "ls-files", "-s", "-z").split("\0")[:-1])
    return frozenset(root / name for mode, name in listed if mode.startswith("100755 "))


def _java(folder: Path, spark: str) -> Path:
    """Build the jars for a Spark into a folder, so that nothing of an earlier build is in them.

    What Maven takes is compared with the list before it runs and after it, because it may fetch more.
    """
    _refuse(differences(read_lock(), REPOSITORY))
    command = [*_MAVEN, *(() if spark == SPARKS[-1] else (f"-Pspark-{spark}",)), f"-Dbuilt={folder}"]
    done = subprocess.run(command, cwd=ROOT / "platform" / "jvm", check=False, timeout=1800)
    if done.returncode != 0:
        raise ChildProcessError(f"Maven ended with {done.returncode}")
    _refuse(differences(read_lock(), REPOSITORY))
    _refuse(strangers(read_lock(shipped=True), folder / "dist"))
    return folder


def _refuse(sentences: Iterable[str]) -> None:
    if found := list(sentences):
        raise UnavailableError("\n".join(found))


def _site_files(version: str) -> dict[str, Path]:
    """Build the site, and return its files by their names in an archive.

    Raises:
        ChildProcessError: it has a mistake.
    """
    folder = ROOT / "build" / "site"
    done = subprocess.run([sys.executable, ROOT / "docs" / "site" / "build.py", folder], check=False, timeout=600)
    if done.returncode != 0:
        raise ChildProcessError("the site cannot be built")
    ours = folder / version
    return {f"site/{path.relative_to(ours).as_posix()}": path for path in ours.rglob("*") if path.is_file()}


def _tracked_files(place: str) -> dict[str, Path]:
    """Return the files of a folder that git knows, by their names in an archive: below the name of the folder."""
    parent = Path(place).parent
    names: Iterable[str] = _git(ROOT, "ls-files", "-z", place).split("\0")[:-1]
    return {Path(name).relative_to(parent).as_posix(): ROOT / name for name in names}


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=False, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise ChildProcessError(f"git {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
