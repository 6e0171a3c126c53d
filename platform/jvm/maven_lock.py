"""The SHA-256 of each jar that Maven takes: `check`, `check FOLDER` and `write REPOSITORY`.

Maven's own checksums come from the repository that the jars come from. This list is in the checkout. The module needs
no package, because it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

LOCK = Path(__file__).with_name("maven.lock")
#: Where Maven keeps what it has fetched.
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
        case ("write", repository):
            lines = (f"{digest}  {path}\n" for path, digest in jar_digests(Path(repository)))
            LOCK.write_text("".join(lines), encoding="utf-8")
            return 0
        case _:
            found = ["give `check`, `check FOLDER` or `write REPOSITORY`"]
    for line in found:
        print(f"error: {line}", file=sys.stderr)
    return 1 if found else 0


def read_lock(lock: Path = LOCK) -> dict[str, str]:
    """Return the SHA-256 of each jar by its path in a repository of Maven."""
    lines = (line.split("  ", 1) for line in lock.read_text(encoding="utf-8").splitlines())
    return {path: digest for digest, path in lines}


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
                f"{path} is not in platform/jvm/maven.lock: run `make maven-lock` if you changed a version, "
                "else `make clean`"
            )
        elif digest_of(path) != known[path.name]:
            yield f"{path} has other bytes than platform/jvm/maven.lock lists: run `make clean`, and build again"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
