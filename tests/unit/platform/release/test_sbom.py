"""The bills of materials: the same components give the same bytes, and each component can be found by a scanner."""

from __future__ import annotations

import json

from tidegate.platform.release.components import Component, packages
from tidegate.platform.release.sbom import LOCK, bom

JAR = Component("g:a", "1", "pkg:maven/g/a@1", ("a" * 64,), "Apache-2.0", "https://example.org/a")
PACKAGE = Component("b", "2", "pkg:pypi/b@2", ("b" * 64, "c" * 64), "BSD License", "this project")


def test_a_component_has_its_hash_its_licence_and_its_source() -> None:
    jar, package = bom("tidegate-jars", "9", [JAR, PACKAGE])["components"]
    assert jar["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert jar["licenses"] == [{"expression": "Apache-2.0"}]
    assert jar["externalReferences"] == [{"type": "vcs", "url": "https://example.org/a"}]
    assert "hashes" not in package, "one of two files, and nobody knows which"
    assert [each["value"] for each in package["properties"]] == ["b" * 64, "c" * 64]
    assert package["licenses"] == [{"license": {"name": "BSD License"}}]
    assert "externalReferences" not in package


def test_two_bills_of_one_lock_have_the_same_bytes_and_another_lock_has_another_number() -> None:
    first, second = (json.dumps(bom("tidegate", "9", packages(LOCK))) for _ in range(2))
    assert first == second
    assert bom("tidegate", "9", [JAR])["serialNumber"] != bom("tidegate", "9", [PACKAGE])["serialNumber"]


def test_every_component_is_a_dependency_and_each_reference_is_there_once() -> None:
    found = bom("tidegate", "9", packages(LOCK))
    references = [each["bom-ref"] for each in found["components"]]
    assert len(set(references)) == len(references) > 80
    assert found["dependencies"] == [{"ref": "pkg:pypi/tidegate@9", "dependsOn": references}]
