"""Build the site of the pages in docs/: `python docs/site/build.py FOLDER`.

FOLDER gets one folder for this version, next to those of other versions, and `versions.json` for the menu of versions.
A broken link, or a heading that a link names and that does not exist, ends the build (docs/decisions/0240-a-site.md).
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONFIG = DOCS / "site" / "zensical.toml"
SHELVES = ("start", "guides", "operate", "reference", "internals", "decisions")
#: Pages next to docs/, by their place on the site.
PROJECT = {
    "README.md": "index.md",
    "docs/README.md": "documentation.md",
    "deploy/README.md": "operate/recipes.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
}
API = "reference/api.md"
_FENCE = re.compile(r"^( *)(```|~~~)")
_LINK = re.compile(r"(?<=\]\()([^)\s#]+)")
_CODE = re.compile(r"(`+[^`]+`+)")
_ITEM = re.compile(r"^( *)(?:[-*]|\d+\.) +")
_TABLE_ROW = re.compile(r"^\| (.+?) \| \[[^]]+\]\(([^)#]+\.md)\) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """A page of the site.

    Attributes:
        place: its path on the site, `start/install.md`.
        text: its Markdown, with links as the site has them.
    """

    place: str
    text: str

    @property
    def title(self) -> str:
        """Its first heading, without marks of code."""
        found = re.search(r"^# (.+)$", self.text, re.MULTILINE)
        if found is None:
            raise SystemExit(f"error: {self.place} has no heading")
        return found[1].replace("`", "")

    @property
    def address(self) -> str:
        """The folder of its HTML, relative to the site, with a slash at its end."""
        folder = self.place.removesuffix(".md").removesuffix("README").removesuffix("index").rstrip("/")
        return f"{folder}/" if folder else ""


def places() -> dict[Path, str]:
    """Return the place on the site of each Markdown file that has one."""
    found = {ROOT / source: place for source, place in PROJECT.items()}
    for shelf in SHELVES:
        for path in sorted((DOCS / shelf).rglob("*.md")):
            found[path] = path.relative_to(DOCS).as_posix()
    return found


@cache
def project_files() -> frozenset[Path]:
    """Return the files that git knows or would take. Others are on this machine only."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise SystemExit(f"error: git does not say which files are published: {done.stderr.strip()}")
    return frozenset(ROOT / name for name in done.stdout.split("\0")[:-1])


def linked_files(text: str, source: Path, place: str, known: dict[Path, str]) -> tuple[str, dict[Path, str]]:
    """Return a page's text with the links of the site, and the files that it links to, with their places."""
    files: dict[Path, str] = {}

    def link(match: re.Match[str]) -> str:
        if "://" in match[1] or match[1].startswith("mailto:"):
            return match[1]
        target = (source.parent / match[1]).resolve()
        there = known.get(target)
        if there is None:
            if not target.is_file():
                raise SystemExit(f"error: {source.relative_to(ROOT)} links to {match[1]}, where no file is")
            if target not in project_files():
                raise SystemExit(
                    f"error: {source.relative_to(ROOT)} links to {match[1]}, which is outside the checkout or which "
                    "git ignores: it would be published"
                )
            inside = target.relative_to(ROOT)
            # A browser shows a .txt, and downloads a .py.
            shown = target.is_relative_to(DOCS) and target.suffix != ".py"
            there = inside.relative_to("docs").as_posix() if shown else f"source/{inside.as_posix()}.txt"
            files[target] = there
        return os.path.relpath(there, Path(place).parent)

    lines, fence = [], ""
    for line in text.splitlines():
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[2] else fence or mark[2]
        parts = [line] if fence else _CODE.split(line)
        lines.append("".join(part if fence or part.startswith("`") else _LINK.sub(link, part) for part in parts))
    return "\n".join(lines) + "\n", files


def indented(text: str) -> str:
    """Return Markdown whose list items have the indentation of Python-Markdown: four columns for each level.

    GitHub takes the column of an item's text, two or three.
    """
    lines: list[str] = []
    levels: list[int] = []
    fence, after_blank, has_parts = "", True, False
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        item = None if fence else _ITEM.match(line)
        if line.strip() and not fence and (item or after_blank):
            while levels and indent < levels[-1]:
                levels.pop()
        if item and has_parts and not after_blank:
            lines.append("")  # Otherwise the item belongs to the last paragraph of the item before it.
        more = 4 * len(levels) - levels[-1] if levels and indent >= levels[-1] else 0
        lines.append(" " * more + line if line.strip() else "")
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[2] else fence or mark[2]
        if item:
            levels.append(item.end())
        after_blank = not line.strip()
        has_parts = bool(levels) and (has_parts or after_blank) and not item
    return "\n".join(lines) + "\n"


def api_page() -> Page:
    """Return the page that mkdocstrings fills from the docstrings of the public names."""
    tree = ast.parse((ROOT / "tidegate" / "__init__.py").read_text(encoding="utf-8"))
    names = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    parts = [f"::: tidegate.{name}" for name in names if name != "__version__"]
    head = "# Python API\n\nFrom the docstrings. [Names of Python](python.md) has an example of each.\n"
    return Page(API, "\n\n".join([head, *parts, "::: tidegate.platform.testing.lake.TestLake"]) + "\n")


def copy_sources(folder: Path) -> None:
    """Copy the package below a folder, so that the reader of docstrings finds it.

    That reader passes over folders without `__init__.py`, as platform/ is (docs/decisions/0001-no-init-in-platform.md).
    """
    ignored = shutil.ignore_patterns("__pycache__", "jvm")
    shutil.copytree(ROOT / "tidegate", folder / "tidegate", ignore=ignored)
    (folder / "tidegate" / "platform" / "__init__.py").touch()


def shelf_order(shelf: str) -> Iterator[tuple[str, str]]:
    """Yield the pages of a shelf in the order of its index: the place, and what a reader wants there."""
    index = (DOCS / shelf / "README.md").read_text(encoding="utf-8")
    for wish, target in _TABLE_ROW.findall(index):
        yield f"{shelf}/{target}", wish


def navigation(pages: dict[str, Page]) -> list[dict[str, object]]:
    """Return the menu: the shelves, and the pages of each in the order of its index."""
    menu: list[dict[str, object]] = [{"Tidegate": ["index.md", {"Documentation": "documentation.md"}]}]
    for shelf in SHELVES:
        entries: list[object] = [f"{shelf}/README.md"]
        # Their index has all decisions. A menu of them would be most of each page.
        for place, _ in shelf_order(shelf) if shelf != "decisions" else ():
            entries.append({pages[place].title: place})
            if place == "reference/python.md":
                entries.append({pages[API].title: API})
        if shelf == "operate":
            entries.append({pages["operate/recipes.md"].title: "operate/recipes.md"})
        menu.append({pages[f"{shelf}/README.md"].title: entries})
    menu.append(
        {"Project": [{pages[place].title: place} for place in PROJECT.values() if place.startswith("project/")]}
    )
    return menu


def toml_value(value: object) -> str:
    """Return lists, tables of one key, and texts as TOML, which writes texts as JSON does."""
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml_value(entry)}" for key, entry in value.items()) + "}"
    return json.dumps(value)


def write_pages(folder: Path) -> dict[str, Page]:
    """Write the sources of the site below a folder, and return its pages by their place."""
    known, pages = places(), {API: api_page()}
    for source, place in known.items():
        text, files = linked_files(source.read_text(encoding="utf-8"), source, place, known)
        images = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
        pages[place] = Page(place, indented(text))
        for path, there in files.items():
            (folder / there).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / there)
        missing = [image for image in images if not (folder / place).parent.joinpath(image).resolve().is_file()]
        if missing:
            raise SystemExit(f"error: {place} shows {missing[0]}, which the site does not have")
    for page in pages.values():
        (folder / page.place).parent.mkdir(parents=True, exist_ok=True)
        unsearched = "---\nsearch:\n  exclude: true\n---\n" if page.place.startswith("decisions/0") else ""
        (folder / page.place).write_text(unsearched + page.text, encoding="utf-8")
    return pages


def llms_text(pages: dict[str, Page]) -> str:
    """Return `llms.txt`: the pages for a language model, each as Markdown next to its HTML."""
    config = CONFIG.read_text(encoding="utf-8")
    (summary,) = re.findall(r'^site_description = "(.+)"$', config, re.MULTILINE)
    lines = ["# Tidegate", "", f"> {summary}", "", "Begin with [for agents](start/agents/index.md).", ""]
    for shelf in SHELVES[:-1]:
        lines += [f"## {pages[f'{shelf}/README.md'].title}", ""]
        for place, wish in shelf_order(shelf):
            page = pages[place]
            lines.append(f"- [{page.title}]({page.address}index.md): {wish}")
        lines.append("")
    lines += ["## Optional", "", "- [Decisions](decisions/index.md): the reasons for the design", ""]
    return "\n".join(lines)


def list_versions(folder: Path) -> None:
    """Write `versions.json` for the versions whose folders are there.

    The address of the site leads to the newest of them.
    """
    versions = sorted(
        (path.name for path in folder.iterdir() if (path / "index.html").is_file()),
        key=lambda name: [int(part) if part.isdigit() else -1 for part in re.split(r"[.-]", name)],
        reverse=True,
    )
    entries = [{"version": version, "title": version, "aliases": []} for version in versions]
    (folder / "versions.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    newest = f"{versions[0]}/"
    leads = f'<!doctype html><meta http-equiv="refresh" content="0; url={newest}"><a href="{newest}">Tidegate</a>\n'
    (folder / "index.html").write_text(leads, encoding="utf-8")


def build(out: Path, version: str) -> Path:
    """Build the site of this version below a folder, and return its own folder."""
    with TemporaryDirectory(prefix="tidegate-site-") as temporary:
        work = Path(temporary)
        pages = write_pages(work / "pages")
        head, rest = CONFIG.read_text(encoding="utf-8").split("[project.validation]", 1)
        copy_sources(work / "python")
        paths = '\n[project.plugins.mkdocstrings.handlers.python]\npaths = ["python"]\n'
        nav = f"nav = {toml_value(navigation(pages))}\n\n[project.validation]"
        (work / "zensical.toml").write_text(head + nav + rest + paths, encoding="utf-8")
        command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise SystemExit(f"error: the site has mistakes:\n{done.stdout}{done.stderr}")
        for page in pages.values():
            (work / "site" / page.address / "index.md").write_text(page.text, encoding="utf-8")
        (work / "site" / "llms.txt").write_text(llms_text(pages), encoding="utf-8")
        ours = out / version
        shutil.rmtree(ours, ignore_errors=True)
        shutil.copytree(work / "site", ours)
    list_versions(out)
    return ours


def product_version() -> str:
    """Return the version of the product."""
    (version,) = re.findall(r'^__version__ = "(.+)"$', (ROOT / "tidegate" / "__init__.py").read_text(), re.MULTILINE)
    return str(version)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("error: name the folder of the site: python docs/site/build.py FOLDER")
    print(build(Path(sys.argv[1]).absolute(), product_version()))
