"""The names of Python that are public exist, a page has each, and pages for users have no others."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tidegate
import tidegate.testing

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
#: Modules below `tidegate` that pages may name: the pytest plugin, and the code location, which a workspace file names.
MODULES = {"tidegate.testing", "tidegate.platform.definitions"}
#: A module below `tidegate`.
BELOW = re.compile(r"\btidegate(?:\.(?:platform|assets|sensors|resources|testing)\b(?:\.\w+)*)")
EXAMPLES = re.compile(r"^```(?:python|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORTED = re.compile(r"^(?:>>> )?\s*from tidegate import (\w+(?:, \w+)*)", re.MULTILINE)


def named(text: str) -> tuple[set[str], set[str]]:
    """Return the modules below `tidegate` that a page has, and the names that it imports from `tidegate`."""
    return set(BELOW.findall(text)), {name for names in IMPORTED.findall(text) for name in names.split(", ")}


@pytest.mark.parametrize("name", tidegate.__all__)
def test_a_public_name_exists_and_its_page_has_it(name: str) -> None:
    assert getattr(tidegate, name) is not None
    assert re.search(rf"^\|.*`{name}`.*\|", PAGE, re.MULTILINE)


def test_what_type_checkers_see_is_what_is_imported() -> None:
    tree = ast.parse(Path(str(tidegate.__file__)).read_text(encoding="utf-8"))
    (typed,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in typed.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert sorted([*seen, "__version__"]) == sorted(tidegate.__all__)
    for name, module in seen.items():
        assert getattr(importlib.import_module(str(module)), name) is getattr(tidegate, name)


def test_a_name_that_is_not_public_is_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'tidegate' has no attribute 'Lake'"):
        _ = tidegate.Lake  # type: ignore[attr-defined]


def test_the_package_alone_imports_neither_dagster_nor_spark() -> None:
    program = "import sys, tidegate; print(tidegate.__version__, {'dagster', 'pyspark', 'boto3'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"{tidegate.__version__} set()\n"


def test_pages_for_users_have_only_public_names() -> None:
    pages = [ROOT / "README.md", *(ROOT / "examples").glob("*.py")]
    pages += [
        page for shelf in ("start", "guides", "operate", "reference") for page in (ROOT / "docs" / shelf).glob("*.md")
    ]
    modules, names = map(set().union, *(named(page.read_text(encoding="utf-8")) for page in pages))
    assert modules == MODULES
    assert names <= set(tidegate.__all__)


def test_a_page_for_users_has_an_example_of_each_name() -> None:
    shelves = ("start", "guides", "operate", "reference")
    pages = [page.read_text(encoding="utf-8") for shelf in shelves for page in (ROOT / "docs" / shelf).glob("*.md")]
    examples = "\n".join(block for page in pages for block in EXAMPLES.findall(page))
    names = [*tidegate.__all__, *tidegate.testing.__all__]
    assert [name for name in names if not re.search(rf"(?<!\w){name}(?!\w)", examples)] == []


def test_names_are_found_in_code_and_in_settings() -> None:
    text = (
        "from tidegate.resources.a import B\nmodule_name: tidegate.platform.x\nfrom tidegate import C, D\ntidegate.toml"
    )
    assert named(text) == ({"tidegate.resources.a", "tidegate.platform.x"}, {"C", "D"})
