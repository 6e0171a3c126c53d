"""Bills of materials in the form of CycloneDX: `python -m tidegate.platform.release.sbom FOLDER`."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

import tidegate
from tidegate.platform.jvm.wheels import ROOT, built_targets
from tidegate.platform.local.spark.jars import package_of_jars
from tidegate.platform.release.components import Component, jars, packages

#: The lock of a deployment has every package that either wheel needs there.
LOCK = ROOT / "requirements" / "deploy.txt"


def main() -> None:
    """Write the bills of all wheels into a folder, and print their paths."""
    for path in write_boms(Path(sys.argv[1]), built_targets()):
        print(path)


def write_boms(folder: Path, targets: Mapping[str, Path]) -> list[Path]:
    """Write the bill of each wheel into a folder: Python packages of the program, and jars. Returns their paths.

    Args:
        targets: folders of the builds of jars, by their Spark.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    bills = {"tidegate": packages(LOCK)}
    bills |= {package_of_jars(spark): jars(target / "dist") for spark, target in targets.items()}
    for name, components in bills.items():
        path = folder / f"{name}-{tidegate.__version__}.cdx.json"
        path.write_text(json.dumps(bom(name, tidegate.__version__, components), indent=2) + "\n", encoding="utf-8")
        written.append(path)
    return written


def bom(name: str, version: str, components: Iterable[Component]) -> dict[str, Any]:
    """Return the bill of one of our packages. The same components give the same bill: it has no time of its own."""
    root = f"pkg:pypi/{name}@{version}"
    listed = [_component(component) for component in components]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, root + json.dumps(listed))}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": name,
                "version": version,
                "purl": root,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": listed,
        "dependencies": [{"ref": root, "dependsOn": [each["bom-ref"] for each in listed]}],
    }


def _component(component: Component) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": component.purl,
        "name": component.name,
        "version": component.version,
        "purl": component.purl,
    }
    if len(component.digests) == 1:
        found["hashes"] = [{"alg": "SHA-256", "content": component.digests[0]}]
    else:  # A hash of CycloneDX is of one file. A release of a package has a file for each system.
        found["properties"] = [{"name": "tidegate:allowed-sha256", "value": digest} for digest in component.digests]
    if component.licence:
        found["licenses"] = [_licence(component.licence)]
    if component.source.startswith("https://"):
        found["externalReferences"] = [{"type": "vcs", "url": component.source}]
    return found


def _licence(text: str) -> dict[str, Any]:
    try:
        return {"expression": canonicalize_license_expression(text)}
    except InvalidLicenseExpression:  # of a package without one: a name of its own
        return {"license": {"name": text}}


if __name__ == "__main__":
    main()
