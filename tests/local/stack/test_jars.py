"""Where the jars of a Spark server are looked for, and the error about those of another version."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from tidegate import __version__
from tidegate.platform.cli.commands.jars_export import run_export
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.local.spark import jars
from tidegate.platform.local.spark.jars import OWN_JAR, jars_folder, log_store_jar

Fill = Callable[..., Path]
ALONE = OWN_JAR.replace(".jar", "-log-store.jar")


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """Return a function that makes a folder of jars, by default as the build does."""

    def made(folder: str, *names: str) -> Path:
        (tmp_path / folder).mkdir(parents=True)
        for name in names or ("delta-spark_4.2_2.13-4.4.0.jar", OWN_JAR, "s3-2.35.4.jar"):
            (tmp_path / folder / name).write_text(name)
        return tmp_path / folder

    return made


@pytest.fixture(autouse=True)
def _nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDEGATE_JARS", raising=False)
    monkeypatch.setattr(jars, "_TARGET", tmp_path / "target")
    monkeypatch.setattr(jars, "_package", lambda _: None)


def install(monkeypatch: pytest.MonkeyPatch, package: Path, version: str) -> None:
    monkeypatch.setattr(jars, "_package", lambda _: package)
    monkeypatch.setattr(jars, "version", lambda _: version)


def test_the_variable_is_before_the_package_and_the_package_before_the_checkout(
    fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnavailableError, match=r"no delta-spark jar in .*target/dist; run `pip install .*`make jars`$"):
        jars_folder()
    built = fill("target/dist")
    assert jars_folder() == built
    packaged = fill("package/jars")
    install(monkeypatch, packaged.parent, __version__)
    assert jars_folder() == packaged
    monkeypatch.setenv("TIDEGATE_JARS", str(fill("mine")))
    assert jars_folder().name == "mine"


def test_a_wrong_variable_is_named(fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    fill("target/dist")
    monkeypatch.setenv("TIDEGATE_JARS", str(fill("mine", "other.jar")))
    with pytest.raises(UnavailableError, match=r"in \S+/mine; TIDEGATE_JARS names this folder: unset it, or"):
        jars_folder()


def test_jars_of_another_version_are_named_with_what_to_do(fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = fill("mine", "delta-spark_4.2_2.13-4.4.0.jar", "tidegate-jvm-0.0.9.jar")
    monkeypatch.setenv("TIDEGATE_JARS", str(mine))
    with pytest.raises(
        UnavailableError, match=rf"mine has tidegate-jvm-0.0.9.jar, this program needs {OWN_JAR} alone; "
    ):
        jars_folder()
    (mine / OWN_JAR).touch()
    with pytest.raises(UnavailableError, match=rf"mine has tidegate-jvm-0.0.9.jar and {OWN_JAR}, this program needs"):
        jars_folder()
    monkeypatch.delenv("TIDEGATE_JARS")
    install(monkeypatch, fill("package/jars").parent, "0.0.9")
    cure = rf"run `pip install 'tidegate-jars=={__version__}'`$"
    said = rf"^tidegate {__version__} needs .* tidegate-jars 0.0.9 is installed: {cure}"
    with pytest.raises(UnavailableError, match=said):
        jars_folder()


def test_a_jar_of_another_build_is_found_by_its_hash(fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill("target/dist")
    built_with = {"4.1": {OWN_JAR: "of another Spark"}, "4.2": {OWN_JAR: jars.sha256(folder / OWN_JAR)}}
    monkeypatch.setattr(jars, "known_jars", lambda: built_with)
    assert jars_folder() == folder
    (folder / OWN_JAR).write_text("of another commit")
    with pytest.raises(
        UnavailableError, match=rf"has another build of {OWN_JAR} \(SHA-256 [0-9a-f]{{12}}…\) than this"
    ):
        jars_folder()


def export(folder: Path, *, spark: str = "4.2", log_store: bool = False) -> str:
    console = Console(width=40)
    with console.capture() as said:
        run_export(console, folder, spark=spark, log_store=log_store)
    return said.get()


def test_jars_are_exported_again_and_again(fill: Fill, tmp_path: Path) -> None:
    built = fill("target/dist")
    folder = tmp_path / "opt" / "jars"
    said = export(folder)
    assert said.splitlines() == [
        f"3 jars are in {folder}",
        f"spark.driver.extraClassPath={folder}/*",
        f"spark.executor.extraClassPath={folder}/*",
    ]
    (folder / OWN_JAR).write_text("half a jar")
    export(folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        path.name: path.read_text() for path in built.iterdir()
    }


def test_jars_for_an_older_spark_are_exported_and_for_another_one_refused(fill: Fill, tmp_path: Path) -> None:
    fill("target/dist")
    cure = rf"run `pip install 'tidegate-jars-spark-4-1=={__version__}'`; in a checkout `make jars SPARK=4.1`$"
    with pytest.raises(UnavailableError, match=cure):
        export(tmp_path / "jars", spark="4.1")
    built = fill("target/spark-4.1/dist", "delta-spark_4.1_2.13-4.4.0.jar", OWN_JAR)
    export(tmp_path / "jars", spark="4.1")
    assert {path.name for path in (tmp_path / "jars").iterdir()} == {path.name for path in built.iterdir()}
    (built / "delta-spark_4.1_2.13-4.4.0.jar").rename(built / "delta-spark_4.2_2.13-4.4.0.jar")
    with pytest.raises(UnavailableError, match=r"are for Spark 4\.2, and those for Spark 4\.1 are needed: install"):
        export(tmp_path / "others", spark="4.1")
    with pytest.raises(CommandError, match=r"^the jars are built for Spark 4\.1 and 4\.2, not for 3\.5$"):
        export(tmp_path / "others", spark="3.5")


def test_a_folder_with_other_jars_is_refused(fill: Fill) -> None:
    fill("target/dist")
    folder = fill("opt", "s3-2.30.0.jar", "tidegate-jvm-0.0.9.jar", "a.jar", "b.jar", OWN_JAR)
    with pytest.raises(
        CommandError, match=r"other jars \(a.jar, b.jar, s3-2.30.0.jar and 1 more\).*name an empty folder"
    ):
        export(folder)
    assert (folder / OWN_JAR).read_text() == OWN_JAR
    assert len(list(folder.iterdir())) == 5


def test_a_folder_that_cannot_be_written_is_named(fill: Fill, tmp_path: Path) -> None:
    fill("target/dist")
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match=r"file/jars cannot be written: Not a directory"):
        export(tmp_path / "file" / "jars")


def test_an_export_to_a_full_disk_says_how_much_is_needed_and_leaves_no_part(
    fill: Fill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill("target/dist")

    def copyfile(_: Path, copy: Path) -> None:
        copy.write_text("half a jar")
        raise OSError(errno.ENOSPC, "No space left on device", "jar", None, str(copy))

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    folder = tmp_path / "jars"
    with pytest.raises(
        CommandError, match=rf"^the disk with {folder} is full, and the jars have 0\.0 MB: free as much"
    ):
        export(folder)
    assert list(folder.iterdir()) == []


def test_the_log_stores_alone_are_put_next_to_the_jars_of_others_and_not_of_ours(fill: Fill) -> None:
    with pytest.raises(UnavailableError, match=rf"there is no \S+/{ALONE}: run `pip install"):
        log_store_jar()
    fill("target/log-store", ALONE)
    folder = fill("spark", "s3-2.30.0.jar")
    assert f"spark.driver.extraClassPath={folder}/{ALONE}" in export(folder, log_store=True)
    assert (folder / ALONE).read_text() == ALONE
    with pytest.raises(CommandError, match=r"other jars \(tidegate-jvm-0.0.9.jar\)"):
        export(fill("ours", "tidegate-jvm-0.0.9.jar"), log_store=True)
