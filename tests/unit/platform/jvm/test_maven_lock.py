"""A jar that differs from the list stops the build, whether Maven fetched it or it is in the folder of the build."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.tracked import ROOT
from tidegate.platform.jvm import maven_lock
from tidegate.platform.jvm.maven_lock import REPOSITORY, differences, digest_of, main, read_lock, strangers

NETTY = "io/netty/netty-common/4.2.18.Final/netty-common-4.2.18.Final.jar"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository of Maven with one jar."""
    jar = tmp_path / "repository" / NETTY
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"as published")
    return tmp_path / "repository"


def test_a_jar_that_was_changed_is_named_and_one_that_is_not_fetched_yet_is_not(repository: Path) -> None:
    lock = {NETTY: digest_of(repository / NETTY), "org/x/x/1/x-1.jar": "0" * 64}
    assert list(differences(lock, repository)) == []
    (repository / NETTY).write_bytes(b"as served today")
    (found,) = differences(lock, repository)
    assert found.startswith(f"{repository / NETTY} is not the jar that platform/jvm/maven.lock lists: delete it")


def test_a_jar_of_the_build_is_listed_with_its_bytes_or_is_ours(tmp_path: Path, repository: Path) -> None:
    dist, name = tmp_path / "dist", Path(NETTY).name
    dist.mkdir()
    (dist / name).write_bytes(b"as published")
    (dist / "tidegate-jvm-9.9.9.jar").write_bytes(b"just built")
    lock = {NETTY: digest_of(repository / NETTY)}
    assert list(strangers(lock, dist)) == []
    (dist / name).write_bytes(b"other")
    (dist / "planted-1.jar").write_bytes(b"other")
    other, planted = strangers(lock, dist)
    assert (
        other == f"{dist / name} has other bytes than platform/jvm/maven.lock lists: run `make clean`, and build again"
    )
    assert planted.startswith(f"{dist / 'planted-1.jar'} is not in platform/jvm/maven.lock, or not as one that is")


def test_a_list_that_is_written_is_read_again(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock, dist, tool = tmp_path / "maven.lock", tmp_path / "dist", "org/x/x/1/x-1.jar"
    monkeypatch.setattr(maven_lock, "LOCK", lock)
    dist.mkdir()
    shutil.copy(repository / NETTY, dist)
    (repository / tool).parent.mkdir(parents=True)
    (repository / tool).write_bytes(b"a tool")
    assert main("write", str(repository), str(dist)) == 0
    shipped = {NETTY: digest_of(repository / NETTY)}
    assert read_lock(lock) == shipped | {tool: digest_of(repository / tool)}
    assert read_lock(lock, shipped=True) == shipped
    shutil.copy(repository / tool, dist)
    (found,) = strangers(read_lock(lock, shipped=True), dist)
    assert found.startswith(f"{dist / 'x-1.jar'} is not in platform/jvm/maven.lock, or not as one that is shipped: run")
    assert list(strangers(read_lock(lock), dist)) == []
    assert main("what") == main("write", str(repository)) == 1
    assert "error: give `check`, `check FOLDER`, `check-dist FOLDER`, " in capsys.readouterr().err


def test_a_list_never_takes_other_bytes_of_a_version_that_it_has(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "maven.lock"
    monkeypatch.setattr(maven_lock, "LOCK", lock)
    assert main("write", str(repository), str(tmp_path)) == 0
    before = lock.read_text()
    (repository / NETTY).write_bytes(b"as served today")
    assert main("write", str(repository), str(tmp_path)) == 1
    assert capsys.readouterr().err.startswith(f"error: {NETTY} has other bytes than platform/jvm/maven.lock lists")
    assert lock.read_text() == before


def test_every_jar_that_the_wheel_has_a_licence_for_is_listed_and_the_versions_of_the_pom_are() -> None:
    names = {Path(path).name for path in read_lock(shipped=True)}
    licences = tomllib.loads((ROOT / "platform" / "jvm" / "wheel" / "licences.toml").read_text(encoding="utf-8"))
    starts = {start for of in licences.values() for start in of} - {"tidegate-"}
    assert {start for start in starts if not any(name.startswith(start) for name in names)} == set()
    pom = (ROOT / "platform" / "jvm" / "pom.xml").read_text(encoding="utf-8")
    for artifact, version in (
        ("netty-common", "netty"),
        ("lz4-java", "lz4"),
        ("dynamodb", "aws"),
        ("hadoop-aws", "hadoop"),
    ):
        wanted = pom.split(f"<{version}.version>")[1].split("<")[0]
        assert f"{artifact}-{wanted}.jar" in names
    assert {len(digest) for digest in read_lock().values()} == {64}


def test_the_build_compares_before_and_after_without_any_package(tmp_path: Path) -> None:
    (tmp_path / "planted-1.jar").write_bytes(b"other")
    command = [sys.executable, "-I", "-S", ROOT / "platform" / "jvm" / "maven_lock.py", "check", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={"HOME": str(tmp_path)})
    assert (done.returncode, done.stderr.count("error: ")) == (1, 1)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = [rule for rule in makefile.split("\n\n") if "$(MAVEN)" in rule and " package" in rule]
    assert rules != []
    assert [rule for rule in rules if "$(LOCK) check" not in rule] == []


def test_each_build_takes_its_jars_from_the_repository_that_is_compared() -> None:
    """Maven's own settings may name another one, in which nothing would be compared."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [line for line in makefile.splitlines() if "mvn -" in line and "-Dmaven.repo.local=" not in line] == []
    named = subprocess.run(
        ["make", "-s", "-f", "-", "named"],
        input="include Makefile\nnamed: ; @echo '$(MAVEN)'\n",
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert named.stdout == f'mvn -B -ntp --strict-checksums -Dmaven.repo.local="{REPOSITORY}"\n'
