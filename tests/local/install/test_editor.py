"""An editor that is opened on a clone finds the packages, without settings of its user."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import tidegate.platform.core

ROOT = Path(__file__).resolve().parents[3]
#: One module of each of three layers. Together they import from all four packages.
MODULES = ("platform/definitions.py", "platform/bronze/run.py", "sensors/intake/sensor.py")
UNRESOLVED = {"reportMissingImports", "reportMissingModuleSource", "reportAttributeAccessIssue"}


def test_pyright_resolves_every_import_of_three_modules() -> None:
    """Pyright follows no import hook, and so not the editable install, but the folder `tidegate/` of the clone."""
    command = [str(Path(sys.executable).parent / "basedpyright"), "--outputjson", *MODULES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip(), done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(MODULES)
    unresolved = [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in report["generalDiagnostics"]
        if each.get("rule") in UNRESOLVED
    ]
    assert not unresolved, "\n".join(unresolved)


def test_the_root_of_a_clone_has_the_package_that_python_imports() -> None:
    """An editor that is opened on the root, such as PyCharm, looks for packages there."""
    for package in ("platform", "assets", "sensors", "resources"):
        assert (ROOT / "tidegate" / package).resolve() == ROOT / package
    assert tidegate.platform.core.__file__ == str(ROOT / "tidegate" / "platform" / "core" / "__init__.py")
