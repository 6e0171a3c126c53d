"""Which Java Spark runs on: that of JAVA_HOME, of the path, or of a package; and the error where none will do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.servers.fake_java import fake_java
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.spark import java as javas
from tidegate.platform.local.spark.java import java_environ, packaged_java, require_java
from tidegate.platform.local.spark.server import SparkServer

INSTALL = (
    r"install one of version 17 or newer, with the extra `local` \(docs/start/install\.md\) or `apt-get install \S+`$"
)


@pytest.fixture(autouse=True)
def _no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(javas, "packaged_java", lambda: None)


@pytest.mark.usefixtures("no_package")
def test_no_java_says_what_to_install() -> None:
    with pytest.raises(UnavailableError, match=rf"^no Java for Spark: there is no `java` on PATH; {INSTALL}"):
        require_java()


@pytest.mark.usefixtures("no_package")
@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2"])
def test_an_old_java_of_the_path_says_what_to_install(version: str, tmp_path: Path) -> None:
    fake_java(tmp_path / "path", version)
    with pytest.raises(
        UnavailableError, match=rf'bin/java is openjdk version "{version}", which is too old; {INSTALL}'
    ):
        require_java()


def test_a_new_java_of_the_path_is_taken_and_an_old_one_is_passed_over(tmp_path: Path) -> None:
    assert require_java() == packaged_java()
    home = fake_java(tmp_path / "path", "11.0.2")
    assert require_java() == packaged_java()
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")  # as that of macOS without a Java
    assert require_java() == packaged_java()
    (home / "bin" / "java").unlink()
    (home / "bin").rmdir()
    fake_java(home, "21.0.8")
    assert require_java() == home / "bin" / "java"
    assert java_environ(require_java(), tmp_path / "java") == {}, "the launcher finds it"


def test_the_java_of_java_home_is_taken_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person chose it, so that another one would be a surprise."""
    fake_java(tmp_path / "path", "21.0.8")
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "new", "17.0.1")))
    assert require_java() == tmp_path / "new" / "bin" / "java"
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.2")))
    with pytest.raises(UnavailableError, match=rf"too old; correct or unset JAVA_HOME, or {INSTALL}"):
        require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UnavailableError, match=rf"JAVA_HOME={tmp_path} has no bin/java; correct or unset JAVA_HOME"):
        require_java()


def test_a_java_without_the_module_gets_a_script_that_leaves_it_out(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "a home", "21.0.8")
    (home / "bin" / "java").write_text('#!/bin/sh\nfor each do echo "<$each>"; done\n')
    (home / "release").write_text('JAVA_VERSION="21.0.8"\nMODULES="java.base jdk.incubator.vector jdk.net"\n')
    assert java_environ(home / "bin" / "java", tmp_path / "java") == {}
    (home / "release").write_text('JAVA_VERSION="21.0.8"\nMODULES="java.base jdk.net"\n')
    environ = java_environ(home / "bin" / "java", tmp_path / "java")
    script = Path(environ["JAVA_HOME"]) / "bin" / "java"
    given = ["-Da=b c", "--add-modules=jdk.incubator.vector", "", "--add-modules=jdk.net", "*"]
    done = subprocess.run([script, *given], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["<-Da=b c>", "<>", "<--add-modules=jdk.net>", "<*>"]


def test_the_spark_server_runs_on_the_java_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_aws: LocalAws
) -> None:
    """Its start asks Spark for a query, so that the server is known to work."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr("shutil.which", lambda _: None)
    server = SparkServer(tmp_path, local_aws.environ, port=0)
    server.start(120.0)
    try:
        assert server.process is not None
        command = Path(f"/proc/{server.process.pid}/cmdline").read_bytes().decode().split("\0")
        assert command[0] == str(packaged_java())
    finally:
        server.stop()
