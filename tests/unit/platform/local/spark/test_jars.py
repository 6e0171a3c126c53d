"""The folder of jars is that of this Python's Spark."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.spark.versions import SPARKS, spark_minor
from tidegate.platform.local.spark import jars
from tidegate.platform.local.spark.jars import built_jars, jars_folder

ROOT = Path(__file__).parents[5]


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TIDEGATE_JARS", raising=False)
    monkeypatch.setattr(jars, "_TARGET", tmp_path)
    for folder, minor in (("dist", "4.2"), ("spark-4.1/dist", "4.1")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"delta-spark_{minor}_2.13-4.4.0.jar").touch()
        (tmp_path / folder / jars.OWN_JAR).touch()
    return tmp_path


def test_each_spark_has_jars_of_its_own(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version, folder in (("4.2.0", "dist"), ("4.1.1", "spark-4.1/dist")):
        monkeypatch.setattr(jars, "installed_spark", lambda found=version: found)
        assert jars_folder() == target / folder


@pytest.mark.parametrize(
    ("folder", "version", "why"),
    [
        (
            "dist",
            "4.1.1",
            r"dist are for Spark 4\.2, and those for Spark 4\.1 are .* install tidegate-jars-spark-4-1",
        ),
        (
            "spark-4.1/dist",
            "4.2.0",
            r"dist are for Spark 4\.1, and those for Spark 4\.2 .* in a checkout run `make jars`",
        ),
        ("dist", "4.3.0", r"there are jars for Spark 4\.1 and 4\.2, and pyspark is 4\.3\.0"),
    ],
)
def test_the_jars_of_another_spark_start_no_server(
    target: Path, monkeypatch: pytest.MonkeyPatch, folder: str, version: str, why: str
) -> None:
    monkeypatch.setattr(jars, "installed_spark", lambda found=version: found)
    monkeypatch.setenv("TIDEGATE_JARS", str(target / folder))
    with pytest.raises(UnavailableError, match=why):
        jars_folder()


def test_every_spark_has_a_profile_a_folder_of_sources_and_a_folder_of_jars() -> None:
    names = {"m": "http://maven.apache.org/POM/4.0.0"}
    pom = ET.parse(ROOT / "platform/jvm/pom.xml").getroot()
    of_profiles = {
        each.findtext("m:id", "", names): each.find("m:properties", names)
        for each in pom.iterfind("m:profiles/m:profile", names)
    }
    *older, newest = SPARKS
    assert set(of_profiles) >= {f"spark-{minor}" for minor in older}
    for minor in SPARKS:
        found = pom.find("m:properties", names) if minor == newest else of_profiles[f"spark-{minor}"]
        assert found is not None
        assert found.findtext("m:spark.minor", "", names) == minor
        version = found.findtext("m:spark.version", "", names)
        assert spark_minor(version) == minor
        folder = found.findtext("m:built", "", names).removeprefix("${project.basedir}/")
        assert built_jars(minor) == ROOT / "platform/jvm" / folder / "dist"
        lock = "dev" if minor == newest else f"spark-{minor}"
        text = (ROOT / "requirements" / f"{lock}.txt").read_text(encoding="utf-8")
        assert re.search(rf"^pyspark(\[connect\])?=={re.escape(version)} ", text, re.MULTILINE)
    classes = [_classes(ROOT / f"platform/jvm/src/spark-{minor}/java") for minor in SPARKS]
    assert classes[0]
    assert all(each == classes[0] for each in classes)


def _classes(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.java"))
