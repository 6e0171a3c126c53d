"""What is refused before a release is built, and archives that have the same bytes from each checkout of one commit."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.support.tracked import ROOT
from tidegate import __version__
from tidegate.platform.cloud.template import stack_template
from tidegate.platform.cloud.trust import Trust
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.release import release
from tidegate.platform.release.release import (
    _ARCHIVES,
    _java,
    _tracked_files,
    archive,
    clone_of,
    example_lake,
    main,
    notes,
    problems,
    runnable_files,
    sums,
)

CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.0\n\n### Added\n\n- a\n\n## 1.1.0\n\n- b\n"


def _git(root: Path, *arguments: str) -> None:
    names = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run(["git", *names, *arguments], cwd=root, check=True, capture_output=True, timeout=30)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a checkout that is the release 1.2.0."""
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-q", "-m", "first")
    _git(tmp_path, "tag", "v1.2.0")
    return tmp_path


def test_a_clean_tree_with_the_tag_and_a_section_of_the_changelog_is_a_release(root: Path) -> None:
    assert list(problems(root, "1.2.0")) == []


def test_changes_that_no_commit_has_are_refused(root: Path) -> None:
    (root / "new.py").touch()
    (found,) = problems(root, "1.2.0")
    assert found == "1 files are not as committed, new.py for one: commit or remove the changes"
    (root / "new.py").unlink()
    (root / "CHANGELOG.md").write_text(f"{CHANGELOG}\n")
    (found,) = problems(root, "1.2.0")
    assert "CHANGELOG.md for one" in found


def test_what_is_released_is_in_the_notes_of_the_release(root: Path) -> None:
    (root / "CHANGELOG.md").write_text(CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n- later\n"))
    _git(root, "commit", "-q", "-a", "--amend", "-m", "first")
    _git(root, "tag", "-f", "v1.2.0")
    (found,) = problems(root, "1.2.0")
    assert found == "CHANGELOG.md has changes in Unreleased, which this commit has: move them to `## 1.2.0`"


def test_a_commit_without_the_tag_and_a_tag_of_another_version_are_refused(root: Path) -> None:
    _git(root, "tag", "of-nothing")
    other, section = problems(root, "1.3.0")
    assert other == "this commit has the tag v1.2.0, and the package has the version 1.3.0: correct one"
    assert section == "CHANGELOG.md has no section `## 1.3.0`: move what is released there from Unreleased"
    _git(root, "commit", "-q", "--allow-empty", "-m", "second")
    (found,) = problems(root, "1.2.0")
    assert found == "this commit has no tag of a version: run `git tag v1.2.0`, or check out the tag"


def test_the_notes_of_a_release_are_its_section_alone() -> None:
    assert notes(CHANGELOG, "1.2.0") == "\n### Added\n\n- a\n\n"
    assert notes(CHANGELOG, "2.0.0") is None
    assert notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), __version__)


def test_an_archive_has_no_trace_of_the_checkout(tmp_path: Path) -> None:
    """Only what git keeps: names, bytes, and whether a file can be run, which a disk may not keep."""
    made = []
    for name, order in (("first", ["a", "b"]), ("second", ["b", "a"])):
        folder = tmp_path / name
        folder.mkdir()
        for file in order:
            (folder / file).write_text(file)
            (folder / file).chmod(0o640 if name == "first" else 0o755)
        os.utime(folder / "a", (1, 1))
        made.append(tmp_path / f"{name}.tar.gz")
        archive(made[-1], {f"x/{file}": folder / file for file in order}, 1_700_000_000, {folder / "b"})
    assert made[0].read_bytes() == made[1].read_bytes()
    assert made[0].read_bytes()[3:10] == bytes([0, 0, 0, 0, 0, 2, 255]), "no name, no time, an unknown system"
    with tarfile.open(made[0]) as tar:
        found = [(entry.name, entry.mode, entry.mtime, entry.uid, entry.uname) for entry in tar]
    assert found == [("x/a", 0o644, 1_700_000_000, 0, ""), ("x/b", 0o755, 1_700_000_000, 0, "")]


def test_the_sums_are_those_that_sha256sum_checks(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("x")
    lines = "".join(f"{digest}  {name}\n" for name, digest in sums(tmp_path).items())
    (tmp_path / "SHA256SUMS").write_text(lines)
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True, timeout=30)
    assert "SHA256SUMS" not in sums(tmp_path)


def test_archives_have_the_files_that_git_knows() -> None:
    found = _tracked_files(_ARCHIVES["recipes"])
    assert found["deploy/compose/compose.yaml"] == ROOT / "deploy" / "compose" / "compose.yaml"
    assert _tracked_files("no/such/folder") == {}


def test_a_release_is_built_from_a_clone_that_has_what_the_commit_has(root: Path, tmp_path: Path) -> None:
    (root / ".gitignore").write_text("kept.txt\n")
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    _git(root, "add", ".")
    _git(root, "commit", "-q", "-m", "second")
    (root / "run").write_text("changed")
    (root / "kept.txt").write_text("ignored")
    (root / "new.txt").write_text("unknown")
    clone = clone_of(root, tmp_path / "clone")
    assert sorted(path.name for path in clone.iterdir()) == [".git", ".gitignore", "CHANGELOG.md", "run"]
    assert (clone / "run").read_text() == "#!/bin/sh\n"
    (clone / "run").chmod(0o644)
    assert runnable_files(clone) == {clone / "run"}


def test_a_jar_that_maven_fetched_with_other_bytes_ends_the_build_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before Maven runs: a tool that was changed could write any class."""
    (tmp_path / "x-1.jar").write_bytes(b"changed")
    monkeypatch.setattr(release, "REPOSITORY", tmp_path)
    monkeypatch.setattr(release, "read_lock", lambda **_: {"x-1.jar": "0" * 64})
    monkeypatch.setattr(release, "_MAVEN", ["no-such-program"])
    with pytest.raises(UnavailableError, match=r"x-1\.jar is not the jar that platform/jvm/maven\.lock lists"):
        _java(tmp_path / "built", "4.2")
    monkeypatch.setattr(release, "build", lambda *_: _java(tmp_path / "built", "4.2"))
    assert main("--build", str(tmp_path / "out")) == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / 'x-1.jar'} is not the jar that")


def test_the_template_of_the_example_is_for_every_account() -> None:
    config = example_lake()
    assert [queue.name for queue in config.queues] == ["tidegate-events"]
    text = json.dumps(stack_template(config, (), Trust.parse("ec2")))
    assert "arn:aws:sqs:*" not in text
    assert "AWS::AccountId" in text
