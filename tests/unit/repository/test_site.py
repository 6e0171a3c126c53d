"""The site of docs/ has every page, leads nowhere else, and says what programs need."""

from __future__ import annotations

import json
import os
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tidegate
from tests.support.tracked import ROOT

SITE: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "site" / "build.py"))
#: Attributes whose address a browser loads without a click.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class Addresses(HTMLParser):
    """Collects the links of a page, what it loads by itself, and its ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if (tag, name) == ("a", "href") and value:
                self.links.add(value)
            if (tag, name) in LOADED and value:
                self.loaded.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the version, in a site that has an older version too."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "0.0.9").mkdir()
    (folder / "0.0.9" / "index.html").write_text("older")
    built: Path = SITE["build"](folder, "0.1.0")
    return built


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Addresses]:
    return {path: Addresses(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_page_of_the_documents_is_a_page_of_the_site(site: Path) -> None:
    for source, place in SITE["places"]().items():
        page = SITE["Page"](place, source.read_text(encoding="utf-8"))
        html = (site / page.address / "index.html").read_text(encoding="utf-8")
        assert re.sub(r"[`*\\]", "", page.title).split()[0] in html, place
        assert (site / page.address / "index.md").is_file(), place


def test_every_link_within_the_site_leads_to_a_file_and_a_heading(site: Path, pages: dict[Path, Addresses]) -> None:
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # It is shown at any address, so its links begin at the root.
        for link in page.links | page.loaded:
            address, _, anchor = link.partition("#")
            if "://" in link or link.startswith(("mailto:", "data:", "javascript:")):
                continue
            target = (path.parent / address.partition("?")[0]).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            known = pages[target].ids if target in pages else set()
            if not target.is_file() or (anchor and target in pages and anchor not in known):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_no_page_loads_anything_from_elsewhere(pages: dict[Path, Addresses]) -> None:
    assert len(pages) > 250
    assert {address for page in pages.values() for address in page.loaded if "//" in address} == set()


def test_lists_and_code_are_what_they_are_on_github(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for paragraph in re.findall(r"<p>(.*?)</p>", text, re.DOTALL):
            assert not re.search(r"\n *(?:[-*]|\d\.) ", paragraph), (
                f"{path.relative_to(site)} has a list in a paragraph"
            )
            assert "```" not in paragraph, f"{path.relative_to(site)} has a fence in a paragraph"
            assert not re.match(r"\|.*\|\n\|-", paragraph), f"{path.relative_to(site)} has a table in a paragraph"


@pytest.mark.parametrize(
    ("on_github", "on_the_site"),
    [
        ("- a\n  b\n\n  c\n- d", "- a\n    b\n\n    c\n\n- d"),
        ("1. a\n\n   ```yaml\n   - b: c\n   ```\n2. d", "1. a\n\n    ```yaml\n    - b: c\n    ```\n\n2. d"),
        ("1. a\n   - b\n     c\n2. d", "1. a\n    - b\n        c\n2. d"),
        ("- a\n- b\n\ntext\n\n    code", "- a\n- b\n\ntext\n\n    code"),
        ("```\n- a\n\n  b\n```", "```\n- a\n\n  b\n```"),
    ],
)
def test_items_get_the_indentation_of_python_markdown(on_github: str, on_the_site: str) -> None:
    assert SITE["indented"](on_github) == on_the_site + "\n"


def test_the_api_has_each_public_name_with_its_docstring(site: Path, pages: dict[Path, Addresses]) -> None:
    html = (site / "reference" / "api" / "index.html").read_text(encoding="utf-8")
    for name in set(tidegate.__all__) - {"__version__"}:
        assert (
            f"tidegate.{name}" in pages[site / "reference" / "api" / "index.html"].ids or f'id="tidegate.{name}' in html
        )
        docstring = re.sub(r"[`*]", "", getattr(tidegate, name).__doc__.strip().splitlines()[0])
        assert docstring.split(",")[0][:30] in re.sub(r"<[^>]+>", "", html).replace("&#39;", "'"), name


def test_the_text_for_language_models_lists_the_pages_of_every_shelf_as_markdown(site: Path) -> None:
    text = (site / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# Tidegate\n\n> ")
    listed = re.findall(r"^- \[[^]]+\]\(([^)]+)\): \S", text, re.MULTILINE)
    assert len(listed) == len(set(listed)) > 70
    for address in listed:
        assert (site / address).read_text(encoding="utf-8").lstrip().startswith(("# ", "---")), address
    for shelf in SITE["SHELVES"][:-1]:
        pages = {
            f"{shelf}/{path.stem}/index.md" for path in (ROOT / "docs" / shelf).glob("*.md") if path.stem != "README"
        }
        assert pages <= set(listed)


def test_the_site_leads_to_its_newest_version_and_lists_all(site: Path) -> None:
    entries = json.loads((site.parent / "versions.json").read_text())
    assert [entry["version"] for entry in entries] == ["0.1.0", "0.0.9"]
    assert 'url=0.1.0/"' in (site.parent / "index.html").read_text()


def test_a_link_to_a_missing_file_ends_the_build(tmp_path: Path) -> None:
    source = ROOT / "docs" / "start" / "install.md"
    with pytest.raises(SystemExit, match=r"docs/start/install\.md links to \.\./gone\.md, where no file is"):
        SITE["linked_files"]("See [it](../gone.md).\n", source, "start/install.md", SITE["places"]())
    (tmp_path / "own.txt").touch()
    kept = ".git/HEAD" if (ROOT / ".git").is_dir() else ".git"
    for other in (os.path.relpath(tmp_path / "own.txt", source.parent), f"../../{kept}"):
        with pytest.raises(SystemExit, match=f"links to {other}, which is outside the checkout or which git ignores"):
            SITE["linked_files"](f"[a]({other})\n", source, "start/install.md", SITE["places"]())
    text, files = SITE["linked_files"](
        "[a](on-aws.md#x) [b](../../lake.yaml) `[c](gone)`\n```\n[d](gone.md)\n```\n[e](https://x.test/y)\n",
        source,
        "start/install.md",
        SITE["places"](),
    )
    assert text.startswith("[a](on-aws.md#x) [b](../source/lake.yaml.txt)")
    assert files == {ROOT / "lake.yaml": "source/lake.yaml.txt"}
