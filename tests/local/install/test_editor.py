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
    """Pyright follows no import hook, and therefore not the editable install, but [tool.pyright] of pyproject.toml."""
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


def test_the_packages_are_on_the_interpreter_s_path_which_pycharm_reads() -> None:
    """Python itself still imports by the hook: a module's file is the one in the clone, not a link to it."""
    places = [Path(entry) / "tidegate" for entry in sys.path]
    for package in ("platform", "assets", "sensors", "resources"):
        found = {(place / package).resolve() for place in places if (place / package).is_dir()}
        assert found == {ROOT / package}
    assert tidegate.platform.core.__file__ == str(ROOT / "platform" / "core" / "__init__.py")
