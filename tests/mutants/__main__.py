"""Makes each mistake of the catalog in a copy of the project and runs the tests that must find it.

`python -m tests.mutants [WORD…]` selects the mutants whose name or file has one of the words; by default it takes all.
First the same tests must pass on the unchanged copy. The exit code is 1 unless every mutant is found.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.mutants.catalog import MUTANTS, Mutant
from tests.support.tracked import tracked

_ROOT = Path(__file__).resolve().parents[2]
#: Built or installed: linked into the copy.
_BUILT = ("platform/jvm/target", "platform/jvm/dynamodb-local/target", ".venv-delta-rs")
_PACKAGES = ("platform", "assets", "sensors", "resources")
_DEADLINE = 900
_PASSED, _FAILED = 0, 1


def main(words: list[str]) -> int:
    """Run the mutants. Returns the exit code."""
    chosen = [
        mutant for mutant in MUTANTS if not words or any(word in mutant.name or word in mutant.path for word in words)
    ]
    if not chosen:
        print(f"error: no mutant has one of the words {', '.join(words)} in its name or file")
        return 2
    with tempfile.TemporaryDirectory(prefix="tidegate-mutants-") as folder:
        copy = _copy(Path(folder))
        tests = list(dict.fromkeys(test for mutant in chosen for test in mutant.tests))
        print(f"{len(tests)} tests without a mutant …", flush=True)
        code, said = _pytest(copy, tests)
        if code != _PASSED:
            print(f"error: they must pass first\n{said}")
            return 1
        alive = [mutant.name for mutant in chosen if not _found(copy, mutant)]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} mutants found" + "".join(f"\nALIVE: {name}" for name in alive))
    return 1 if alive else 0


def _found(copy: Path, mutant: Mutant) -> bool:
    began = time.monotonic()
    with _made(copy, mutant):
        code, said = _pytest(copy, mutant.tests)
    found = code == _FAILED and "\nFAILED " in said
    print(
        f"{'found' if found else 'ALIVE'}  {time.monotonic() - began:5.0f} s  {mutant.name} ({mutant.path})", flush=True
    )
    if not found:
        print(said)
    return found


@contextmanager
def _made(copy: Path, mutant: Mutant) -> Iterator[None]:
    file = copy / mutant.path
    text = file.read_text()
    if text.count(mutant.before) != 1:
        raise SystemExit(f"error: {mutant.path} has {text.count(mutant.before)} times what {mutant.name!r} changes")
    file.write_text(text.replace(mutant.before, mutant.after))
    try:
        yield
    finally:
        file.write_text(text)


def _pytest(copy: Path, tests: Iterable[str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *tests]
    environ = {**os.environ, "PYTHONPATH": str(copy / "links"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=copy, env=environ, timeout=_DEADLINE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout[-4000:]


def _copy(folder: Path) -> Path:
    """Copy what git knows of the project, with changes. In `links` it is a package, found before an installed one."""
    copy = folder / "project"
    for path in tracked():
        name = path.relative_to(_ROOT)
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy / name)
    for name in _BUILT:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).symlink_to(_ROOT / name)
    (copy / "links" / "tidegate").mkdir(parents=True)
    for name in _PACKAGES:
        (copy / "links" / "tidegate" / name).symlink_to(copy / name)
    return copy


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
