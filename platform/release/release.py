"""`make release`: everything of a release in one folder, with the same bytes from every build of one commit.

`make release-check` builds twice, from the Java sources on, and compares. It needs no tag.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import yaml

import tidegate
from tidegate.platform.cloud.template import stack_template
from tidegate.platform.cloud.trust import Trust
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.jvm.maven_lock import read_lock, strangers
from tidegate.platform.jvm.wheels import ROOT, build_jars, build_program
from tidegate.platform.lake.spark.versions import SPARKS
from tidegate.platform.release.sbom import write_boms

FOLDER = ROOT / "build" / "release"
SUMS = "SHA256SUMS"
_MAVEN = ["mvn", "-q", "-B", "-ntp", "--strict-checksums", "package", "-DskipTests"]
#: Folders that a release has as an archive if the checkout has them, by the name of the archive.
_ARCHIVES = {"recipes": "deploy", "chart": "deploy/helm/tidegate"}


def main(*arguments: str) -> int:
    """Build a release, or build twice and compare with `--check`. Returns the exit code."""
    version = tidegate.__version__
    if arguments == ("--check",):
        with tempfile.TemporaryDirectory(prefix="tidegate-release-") as folder:
            first, second = (sums(build(Path(folder) / name, version)) for name in ("first", "second"))
        differing = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
        for name in differing:
            print(f"error: two builds of this commit differ in {name}", file=sys.stderr)
        print(f"{len(first)} files, {len(differing)} of them differ between two builds")
        return 1 if differing else 0
    if found := list(problems(ROOT, version)):
        for line in found:
            print(f"error: {line}", file=sys.stderr)
        return 1
    build(FOLDER, version)
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
    if notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version) is None:
        yield f"CHANGELOG.md has no section `## {version}`: move what is released there from Unreleased"


def notes(changelog: str, version: str) -> str | None:
    """Return what the changelog has of a version; None if it has no such section."""
    sections = re.split(r"^## (.+)\n", changelog, flags=re.MULTILINE)
    return dict(zip(sections[1::2], sections[2::2], strict=True)).get(version)


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
        write_boms(folder, target)
        (alone,) = (target / "log-store").glob("*.jar")
        shutil.copy(alone, folder)
    lock, image = "requirements/deploy.txt", ROOT / "deploy" / "image"
    context = {f"build/dist/{wheel.name}": wheel for wheel in wheels} | {
        lock: ROOT / lock,
        ".dockerignore": ROOT / ".dockerignore",
    }
    context |= {f"deploy/image/{path.name}": path for path in image.iterdir()}
    archive(folder / f"tidegate-image-context-{version}.tar.gz", context, epoch)
    for name, place in _ARCHIVES.items():
        if files := _tracked_files(place):
            archive(folder / f"tidegate-{name}-{version}.tar.gz", files, epoch)
    archive(folder / f"tidegate-site-{version}.tar.gz", _site_files(version), epoch)
    template = stack_template(example_lake(), (), Trust.parse("ec2"))
    (folder / f"tidegate-stack-example-{version}.json").write_text(
        f"{json.dumps(template, indent=2)}\n", encoding="utf-8"
    )
    shutil.copy(ROOT / lock, folder / f"tidegate-requirements-{version}.txt")
    said = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    (folder / "NOTES.md").write_text(f"# Tidegate {version}\n{said or ''}", encoding="utf-8")
    lines = (f"{digest}  {name}\n" for name, digest in sums(folder).items())
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    return folder


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


def archive(path: Path, files: Mapping[str, Path], epoch: int) -> None:
    """Write an archive of files by their names in it. Whose they are, when, and in which order leaves no trace."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, file in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            body = file.read_bytes()
            entry.size, entry.mtime = len(body), epoch
            entry.mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
            tar.addfile(entry, io.BytesIO(body))
    # The header of gzip would have the time and the name of the file.
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def _java(folder: Path, spark: str) -> Path:
    """Build the jars for a Spark into a folder, so that nothing of an earlier build is in them."""
    command = [*_MAVEN, *(() if spark == SPARKS[-1] else (f"-Pspark-{spark}",)), f"-Dbuilt={folder}"]
    done = subprocess.run(command, cwd=ROOT / "platform" / "jvm", check=False, timeout=1800)
    if done.returncode != 0:
        raise ChildProcessError(f"Maven ended with {done.returncode}")
    if found := list(strangers(read_lock(), folder / "dist")):
        raise UnavailableError(found[0])
    return folder


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
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True, timeout=60).stdout


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
