"""A wheel has the same bytes whatever the umask of its maker is, and whatever time the environment names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegate.platform.jvm.wheels import _build_wheel

PROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "small"
version = "1"

[tool.setuptools]
packages = ["small"]

[tool.setuptools.package-data]
small = ["data.txt"]
"""


def test_a_wheel_has_no_trace_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for umask, time in ((0o077, "1000000000"), (0o002, "1100000000")):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", time)
        before = os.umask(umask)
        try:
            source = tmp_path / time
            (source / "small").mkdir(parents=True)
            (source / "pyproject.toml").write_text(PROJECT)
            for name in ("__init__.py", "data.txt"):
                (source / "small" / name).write_text("")
            made.append(_build_wheel(source, tmp_path / f"{time}-dist").read_bytes())
        finally:
            os.umask(before)
    assert made[0] == made[1]
