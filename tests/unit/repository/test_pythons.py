"""Every Python that the package is for answers alike to what others write: the newest one of this machine is asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.matrix import run_all
from tests.support.pythons import find_python, other_versions

ROOT = Path(__file__).parents[3]
#: What each Python answers to each text, as JSON. These modules need nothing but the standard library.
_ASK = """
import json, sys
from tidegate.platform.core.foreign_json import deep_value_end, foreign_json, foreign_row
from tidegate.platform.core.json_scanner import json_end
from tidegate.platform.core.row_json import row_json

readers = [foreign_json, foreign_row, lambda text: json_end(text, 0), lambda text: deep_value_end(text, 0, 31)]
for opening, closing in (("[", "]"), ('{"a":', "}"), ('[0,{"]":', "},1]")):
    for times in (14, 15, 29, 30, 31, 99, 100, 199, 200, 201, 997, 998, 999, 10_000):
        for text in (opening * times + "1" + closing * times, opening * times):
            for place, read in enumerate(readers):
                try:
                    answer = read(text)
                except ValueError as error:
                    answer = str(error)
                print(times, opening, place, repr(answer)[:80])
    print(opening, len(json.dumps(row_json('{"v":' + opening * 999 + "1" + closing * 999 + "}"))))
texts = "", "nul", "[1,]", '{"a":1,"a":2}', '{"a" 1}', '"\\ud800"', "1e400", "NaN", '"a', "[1]]", "\\ufeff{}"
for text in (*texts, "9" * 5_000, "[" * 1_000_000):
    for place, read in enumerate(readers[:3]):
        try:
            answer = read(text)
        except ValueError as error:
            answer = str(error)
        # What is wrong in the text is said by each Python in its own words.
        print(text[:9].encode("unicode_escape"), place, repr(answer).partition(" not JSON: ")[0][:80])
"""


def _answers(python: str | Path) -> list[str]:
    done = subprocess.run([python, "-c", _ASK], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.splitlines()


def test_the_newest_python_here_answers_as_this_one() -> None:
    newest = next(((version, found) for version in reversed(other_versions()) if (found := find_python(version))), None)
    if newest is None:
        pytest.skip(f"NOT RUN with another Python: this machine has none of {', '.join(other_versions())}")
    version, python = newest
    mine, other = _answers(sys.executable), _answers(python)
    assert len(mine) > 300
    assert [line for line in mine if "nested too deeply" in line]
    assert other == mine, f"Python {version}"


def test_a_python_that_is_missing_is_named_and_does_not_count_as_passed() -> None:
    ran = list[str]()

    def test(version: str, python: Path) -> bool:
        ran.append(version)
        return version != "3.12"

    found = {"3.11": Path("a"), "3.12": Path("b")}
    assert run_all(["3.11", "3.12", "3.13"], found.get, test) == (
        ["Python 3.11: passed", "Python 3.12: FAILED", "Python 3.13: NOT RUN, this machine has no python3.13"],
        True,
    )
    assert ran == ["3.11", "3.12"]
    assert run_all(["3.11", "3.13"], found.get, test)[1] is False


def test_only_an_interpreter_that_works_and_has_the_version_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_python("3.13") is None
    for script in ("echo 3.12", "echo not found; exit 127"):
        (tmp_path / "python3.13").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "python3.13").chmod(0o755)
        assert find_python("3.13") is None
    installed = tmp_path / ".pyenv/versions/3.13.0/bin/python3.13"
    installed.parent.mkdir(parents=True)
    installed.write_text("#!/bin/sh\necho 3.13\n")
    installed.chmod(0o755)
    assert find_python("3.13") == installed
