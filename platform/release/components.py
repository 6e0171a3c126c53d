"""What a release consists of besides our own code: the packages of a lock, and the jars of the build."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.jvm.maven_lock import OURS, digest_of, read_lock
from tidegate.platform.jvm.wheels import licence_and_source

_PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[[^\]]*\])?==([^ ;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
#: Words of a package's own description of its licence that say nothing without a text.
_LONGEST_LICENCE = 60


@dataclass(frozen=True)
class Component:
    """A package or a jar of others.

    Attributes:
        purl: its package URL, with its version.
        digests: SHA-256 of its file; of a package, of each file of its release that the lock allows.
        licence: as its project says it; empty if it is not known here.
    """

    name: str
    version: str
    purl: str
    digests: tuple[str, ...] = ()
    licence: str = ""
    source: str = ""


def packages(lock: Path) -> list[Component]:
    """Return the packages of a lock. Licences are those of the installed packages."""
    text = lock.read_text(encoding="utf-8")
    places = [*_PINNED.finditer(text)]
    ends = [*(place.start() for place in places[1:]), len(text)]
    return [
        Component(
            name := place[1],
            version := place[2],
            f"pkg:pypi/{name}@{version}",
            tuple(_HASH.findall(text[place.end() : end])),
            _licence(name),
        )
        for place, end in zip(places, ends, strict=True)
    ]


def jars(folder: Path) -> list[Component]:
    """Return the jars of a folder of the build, without our own.

    Raises:
        BadSetting: a jar is not in platform/jvm/maven.lock as one that is shipped, or its licence is unknown.
    """
    known = {Path(path).name: path for path in read_lock(shipped=True)}
    found = []
    for path in sorted(folder.glob("*.jar")):
        if OURS.fullmatch(path.name):
            continue
        if path.name not in known:
            raise BadSetting(f"{path.name} is not in platform/jvm/maven.lock: run `make maven-lock`")
        *group, artifact, version, _ = Path(known[path.name]).parts
        licence, source = licence_and_source(path.name)
        # Of one artifact there may be several files, one for each system.
        classifier = path.stem.removeprefix(f"{artifact}-{version}").removeprefix("-")
        purl = f"pkg:maven/{'.'.join(group)}/{artifact}@{version}" + (f"?classifier={classifier}" * bool(classifier))
        found.append(Component(f"{'.'.join(group)}:{artifact}", version, purl, (digest_of(path),), licence, source))
    return found


def described_jars(folder: Path) -> tuple[list[Component], list[str]]:
    """Return the jars of a folder that say themselves what they are, and the names of the others.

    Args:
        folder: the jars that Spark brings.
    """
    found, silent = list[Component](), list[str]()
    for path in sorted(folder.glob("*.jar")):
        components = list(_own_descriptions(path))
        found += components
        silent += [] if components else [path.name]
    return found, silent


def _own_descriptions(path: Path) -> Iterator[Component]:
    with zipfile.ZipFile(path) as jar:
        texts = [
            jar.read(name).decode("utf-8", "replace")
            for name in jar.namelist()
            if re.fullmatch(r"META-INF/maven/[^/]+/[^/]+/pom\.properties", name)
        ]
    for said in (dict(re.findall(r"^(\w+)=(\S+)", text, re.MULTILINE)) for text in texts):
        group, artifact, version = (said.get(key, "") for key in ("groupId", "artifactId", "version"))
        # A jar may contain others, each with such a text.
        if path.name == f"{artifact}-{version}.jar":
            yield Component(f"{group}:{artifact}", version, f"pkg:maven/{group}/{artifact}@{version}")


def _licence(package: str) -> str:
    try:
        said = metadata(package).json
    except PackageNotFoundError:
        return ""
    named = str(said.get("license_expression") or said.get("license") or "").strip()
    if named and len(named) <= _LONGEST_LICENCE and "\n" not in named:
        return named
    kinds = [each for each in said.get("classifier", ()) if each.startswith("License ::")]
    return kinds[0].rsplit(" :: ", 1)[-1] if kinds else ""
