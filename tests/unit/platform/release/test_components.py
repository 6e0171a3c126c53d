"""The packages of a lock with the hashes that it allows, and the jars with what our list says of them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.jvm.maven_lock import digest_of
from tidegate.platform.release.components import described_jars, jars, packages
from tidegate.platform.release.sbom import LOCK

TCNATIVE = "netty-tcnative-boringssl-static-2.0.84.Final-linux-x86_64.jar"


def test_each_package_of_a_lock_has_its_version_its_hashes_and_its_licence() -> None:
    found = {component.name: component for component in packages(LOCK)}
    text = LOCK.read_text(encoding="utf-8")
    assert len(found) == text.count("==")
    assert sum(len(component.digests) for component in found.values()) == text.count("--hash=")
    assert all(component.digests and component.purl.startswith("pkg:pypi/") for component in found.values())
    assert found["rich"].licence == "MIT"
    assert found["mdurl"].licence == "MIT License", "it has a classifier only"


def test_a_package_with_an_extra_and_a_marker(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text(f'pyspark[connect]==4.2.0 ; python_version < "4" \\\n    --hash=sha256:{"a" * 64}\n')
    (component,) = packages(lock)
    assert (component.purl, component.digests) == ("pkg:pypi/pyspark@4.2.0", ("a" * 64,))


def test_a_jar_is_named_by_its_coordinates(tmp_path: Path) -> None:
    for name in (TCNATIVE, "lz4-java-1.11.2.jar", "tidegate-jvm-0.1.0.jar"):
        (tmp_path / name).write_bytes(name.encode())
    lz4, tcnative = jars(tmp_path)
    assert lz4.purl == "pkg:maven/at.yawk.lz4/lz4-java@1.11.2"
    assert lz4.digests == (digest_of(tmp_path / "lz4-java-1.11.2.jar"),)
    assert tcnative.purl == "pkg:maven/io.netty/netty-tcnative-boringssl-static@2.0.84.Final?classifier=linux-x86_64"
    assert (tcnative.licence, tcnative.source) == ("Apache-2.0", "https://github.com/netty/netty-tcnative")
    (tmp_path / "planted-1.jar").touch()
    with pytest.raises(BadSetting, match=r"planted-1.jar is not in platform/jvm/maven.lock"):
        jars(tmp_path)


def test_a_jar_of_spark_says_what_it_is_and_not_what_it_contains(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "derby-10.16.1.1.jar", "w") as jar:
        for group, artifact, version in (("org.apache.derby", "derby", "10.16.1.1"), ("org.shaded", "other", "1")):
            text = f"#made by Maven\nversion={version}\ngroupId={group}\nartifactId={artifact}\n"
            jar.writestr(f"META-INF/maven/{group}/{artifact}/pom.properties", text)
    with zipfile.ZipFile(tmp_path / "silent-1.jar", "w"):
        pass
    (component,), silent = described_jars(tmp_path)
    assert silent == ["silent-1.jar"]
    assert component.purl == "pkg:maven/org.apache.derby/derby@10.16.1.1"
