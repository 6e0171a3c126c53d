"""The names of Python that are public exist, and pages for users have no others."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8")
PUBLIC = re.findall(r"^\| `(tidegate\.[\w.]+)` \|", PAGE, re.MULTILINE)
#: A module of ours, and perhaps a name in it, or the names that are imported of it.
NAMED = re.compile(r"\b(tidegate\.(?:platform|assets|sensors|resources)(?:\.\w+)+)(?: import (\w+(?:, \w+)*))?")


def named(text: str) -> set[str]:
    """The names of Tidegate's Python that a page has."""
    found = set()
    for module, imported in NAMED.findall(text):
        found |= {f"{module}.{name}" for name in imported.split(", ")} if imported else {module}
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_exists(name: str) -> None:
    parent, _, last = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        assert hasattr(importlib.import_module(parent), last)


def test_pages_for_users_have_only_public_names() -> None:
    pages = [ROOT / "README.md", *(ROOT / "examples").glob("*.py")]
    pages += [page for shelf in ("start", "guides", "operate") for page in (ROOT / "docs" / shelf).glob("*.md")]
    found = set().union(*(named(page.read_text(encoding="utf-8")) for page in pages))
    assert found <= set(PUBLIC), "docs/reference/compatibility.md lists what is public"
    # TestLake is the type of a fixture, which pages use without its name.
    assert set(PUBLIC) - found == {"tidegate.platform.testing.TestLake"}


def test_names_are_found_in_code_and_in_settings() -> None:
    assert named("from tidegate.resources.a import B, C\nmodule_name: tidegate.platform.x, tidegate.lake") == {
        "tidegate.resources.a.B",
        "tidegate.resources.a.C",
        "tidegate.platform.x",
    }
