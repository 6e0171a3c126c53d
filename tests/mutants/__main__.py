"""Makes each mistake of the catalog in a copy of the project and runs the tests that must find it.

`python -m tests.mutants [WORD…]` selects the mutants whose name or function has one of the words; by default it takes
all. First the same tests must pass on the unchanged copy. Then each core has a copy and takes the next mutant. The exit
code is 1 unless every mutant is found. A mutant that cannot be compiled is an error of the catalog.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.catalog import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.place import PACKAGES, NotFound, mutated
from tests.support.tracked import tracked

_ROOT = Path(__file__).resolve().parents[2]
#: Built or installed: linked into the copy.
_BUILT = (
    "platform/jvm/target/dist",
    "platform/jvm/dynamodb-local/target",
    "platform/jvm/s3proxy/target",
    ".venv-delta-rs",
)
#: Compiled Java: in a copy, because what changes there is compiled again.
_COMPILED = ("platform/jvm/target/classes", "platform/jvm/target/test-classes")
#: Seconds for the tests of one mutant, and for all tests without a mutant.
_DEADLINE, _DEADLINE_OF_ALL = 900, 5400
#: Seconds in which tests that are too late stop what they started.
_STOPPING = 120
_LATE = -1
#: What Surefire counts at the end if a test failed, or threw what it does not expect.
_UNLIKE = re.compile(r"Tests run: \d+, (Failures: [1-9]|Failures: 0, Errors: [1-9])")


@dataclass(frozen=True)
class _Tested:
    """How tests ended.

    Attributes:
        passed: whether all passed.
        found: whether one failed. Tests that could not run, or were too late, found nothing.
        said: the end of what they said.
    """

    passed: bool
    found: bool
    said: str


def main(words: list[str]) -> int:
    """Run the mutants. Returns the exit code."""
    chosen = [
        mutant
        for mutant in MUTANTS
        if not words or any(word in mutant.name or word in mutant.function for word in words)
    ]
    if not chosen:
        print(f"error: no mutant has one of the words {', '.join(words)} in its name or file")
        return 2
    with tempfile.TemporaryDirectory(prefix="tidegate-mutants-") as folder:
        copies = [_copy(Path(folder) / str(number)) for number in range(os.cpu_count() or 1)]
        for is_java, run in ((False, _in_parallel), (True, _junit)):
            tests = list(dict.fromkeys(test for mutant in chosen if mutant.is_java == is_java for test in mutant.tests))
            if tests:
                print(f"{len(tests)} tests without a mutant …", flush=True)
                tested = run(copies[0], tests, _DEADLINE_OF_ALL)
                if not tested.passed:
                    print(f"error: they must pass first\n{tested.said}")
                    return 1
        alive = _alive(copies, chosen)
    print(f"{len(chosen) - len(alive)} of {len(chosen)} mutants found" + "".join(f"\nALIVE: {name}" for name in alive))
    return 1 if alive else 0


def _alive(copies: list[Path], mutants: list[Mutant]) -> list[str]:
    """Return the names of the mutants that no test finds."""
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def found(mutant: Mutant) -> bool:
        copy = free.get()
        try:
            return _found(copy, mutant)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        return [mutant.name for mutant, was in zip(mutants, pool.map(found, mutants), strict=True) if not was]


def _found(copy: Path, mutant: Mutant) -> bool:
    began = time.monotonic()
    with _made(copy, mutant):
        tested = (_junit if mutant.is_java else _pytest)(copy, mutant.tests, _DEADLINE)
    if "Compilation failure" in tested.said:
        raise SystemExit(f"error: {mutant.function} cannot be compiled with {mutant.name!r}\n{tested.said}")
    verdict = (
        f"{'found' if tested.found else 'ALIVE'}  {time.monotonic() - began:5.0f} s  {mutant.name} ({mutant.function})"
    )
    print(verdict if tested.found else f"{verdict}\n{tested.said}", flush=True)
    return tested.found


@contextmanager
def _made(copy: Path, mutant: Mutant) -> Iterator[None]:
    try:
        file, wrong = mutated(mutant, copy)
    except NotFound as error:
        raise SystemExit(f"error: {error}") from None
    text = file.read_text()
    file.write_text(wrong)
    try:
        yield
    finally:
        file.write_text(text)


def _in_parallel(copy: Path, tests: Iterable[str], deadline: float) -> _Tested:
    return _pytest(copy, ["--numprocesses=auto", *tests], deadline)


def _pytest(copy: Path, arguments: Iterable[str], deadline: float) -> _Tested:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *arguments]
    code, said = _ended(command, copy, {"PYTHONPATH": str(copy / "links"), "PYTHONDONTWRITEBYTECODE": "1"}, deadline)
    return _Tested(code == 0, code == 1 and "\nFAILED " in said, said)


def _junit(copy: Path, tests: Iterable[str], deadline: float) -> _Tested:
    """Compile what changed, and run tests of JUnit. Other classes are not compiled again."""
    command = ["mvn", "-q", "-o", "-B", "test", "-Dmaven.compiler.useIncrementalCompilation=false"]
    code, said = _ended([*command, f"-Dtest={','.join(tests)}"], copy / "platform" / "jvm", {}, deadline)
    return _Tested(code == 0, code == 1 and _UNLIKE.search(said) is not None, said)


def _ended(command: list[str], folder: Path, environ: dict[str, str], deadline: float) -> tuple[int, str]:
    """Run tests. Returns the exit code, or `_LATE`, and the end of what they said."""
    with subprocess.Popen(
        command, cwd=folder, env={**os.environ, **environ}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as tests:
        try:
            said, _ = tests.communicate(timeout=deadline)
        except subprocess.TimeoutExpired:
            tests.send_signal(signal.SIGINT)
            try:
                said, _ = tests.communicate(timeout=_STOPPING)
            finally:
                tests.kill()
            return _LATE, f"{said[-4000:]}\nthe tests did not end within {deadline:.0f} s"
    return tests.returncode, said[-4000:]


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
    for name in _COMPILED:
        shutil.copytree(_ROOT / name, copy / name)
    for name in PACKAGES:
        (copy / "tidegate" / name).symlink_to(copy / name)
    (copy / "links").mkdir()
    (copy / "links" / "tidegate").symlink_to(copy / "tidegate")
    return copy


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
