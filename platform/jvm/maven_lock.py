"""The SHA-256 of each jar that Maven takes.

- `check` compares Maven's repository with the list, `check FOLDER` also the jars of a folder.
- `check-dist FOLDER` compares a folder of jars that are shipped: those that only a test or the build takes are not.
- `write REPOSITORY FOLDER…` writes the list from a repository, and the folders of the jars that are shipped.
- `repository` prints where Maven keeps what it has fetched.

Maven's own checksums come from the repository that the jars come from. This list is in the checkout. The module needs
no package, because it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

LOCK = Path(__file__).with_name("maven.lock")
#: Where Maven keeps what it has fetched. Each build gives it this path: its own settings may name another one.
REPOSITORY = Path.home() / ".m2" / "repository"
#: Our own jars. They are built here, so no list can have them.
OURS = re.compile(r"tidegate-jvm-.*\.jar")


def main(*arguments: str) -> int:
    """Run a command, and return its exit code."""
    match arguments:
        case ("check",):
            found = list(differences(read_lock(), REPOSITORY))
        case ("check", folder):
            found = [*differences(read_lock(), REPOSITORY), *strangers(read_lock(), Path(folder))]
        case ("check-dist", folder):
            found = [*differences(read_lock(), REPOSITORY), *strangers(read_lock(shipped=True), Path(folder))]
        case ("write", repository, *folders) if folders:
            found = write_lock(Path(repository), map(Path, folders))
        case ("repository",):
            print(REPOSITORY)
            found = []
        case _:
            found = ["give `check`, `check FOLDER`, `check-dist FOLDER`, `write REPOSITORY FOLDER…` or `repository`"]
    for line in found:
        print(f"error: {line}", file=sys.stderr)
    return 1 if found else 0


def read_lock(lock: Path = LOCK, *, shipped: bool = False) -> dict[str, str]:
    """Return the SHA-256 of each jar by its path in a repository of Maven: of all, or of those that are shipped."""
    lines = (line.split() for line in lock.read_text(encoding="utf-8").splitlines())
    return {path: digest for digest, path, *mark in lines if mark or not shipped}


def write_lock(repository: Path, folders: Iterable[Path]) -> list[str]:
    """Write the list of the jars of a repository. Those of the folders get the mark `dist`.

    Returns:
        A sentence for each jar that was listed with other bytes. If there is one, nothing was written.
    """
    known = read_lock(LOCK) if LOCK.is_file() else {}
    shipped = {path.name for folder in folders for path in folder.glob("*.jar")}
    found = dict(jar_digests(repository))
    if changed := [path for path, digest in found.items() if known.get(path, digest) != digest]:
        return [
            f"{path} has other bytes than platform/jvm/maven.lock lists, and a version that was published never "
            "changes: ask its project why. If that is right, remove its line and run `make maven-lock` again"
            for path in changed
        ]
    lines = (f"{digest}  {path}{'  dist' * (Path(path).name in shipped)}\n" for path, digest in found.items())
    LOCK.write_text("".join(lines), encoding="utf-8")
    return []


def jar_digests(repository: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the SHA-256 of each jar in a repository."""
    for path in sorted(repository.rglob("*.jar")):
        yield path.relative_to(repository).as_posix(), digest_of(path)


def differences(lock: dict[str, str], repository: Path) -> Iterator[str]:
    """Yield a sentence for each jar of a repository that is not the listed one. What is not fetched yet is none."""
    for name, digest in lock.items():
        path = repository / name
        if path.is_file() and digest_of(path) != digest:
            yield (
                f"{path} is not the jar that platform/jvm/maven.lock lists: delete it and build again. If it is "
                "another one again, the repository that Maven asks serves a jar that was changed"
            )


def strangers(lock: dict[str, str], folder: Path) -> Iterator[str]:
    """Yield a sentence for each jar of a folder of the build that is not listed, or not with these bytes."""
    known = {Path(name).name: digest for name, digest in lock.items()}
    for path in sorted(folder.glob("*.jar")):
        if OURS.fullmatch(path.name):
            continue
        if path.name not in known:
            yield (
                f"{path} is not in platform/jvm/maven.lock, or not as one that is shipped: run `make maven-lock` if "
                "you changed a version, else `make clean`"
            )
        elif digest_of(path) != known[path.name]:
            yield f"{path} has other bytes than platform/jvm/maven.lock lists: run `make clean`, and build again"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
