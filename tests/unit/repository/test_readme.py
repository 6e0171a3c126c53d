"""The README's first screen: short, with a proof for each claim, and no figure of its own."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import yaml

from tests.unit.repository.test_docs import links
from tidegate.platform.core.config.load import load_lake

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs" / "internals" / "benchmarks.md").read_text(encoding="utf-8")
#: About two screens.
MAX_LINES = 100
#: A figure with its unit, or a ratio with two decimals.
FIGURE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?) s\b|(?<![\d.])(\d\.\d\d)(?![\d.])")


def block(language: str, number: int = 0) -> list[str]:
    """Return the lines of a code block."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[number].splitlines()


def claims() -> list[str]:
    """Return the bold list above the table of comparison."""
    before = TEXT.partition("\n| |")[0]
    return re.findall(r"^- \*\*.*?(?=^- \*\*|^$)", before, re.MULTILINE | re.DOTALL)


def test_the_readme_is_two_screens_at_most() -> None:
    assert len(TEXT.splitlines()) <= MAX_LINES


def test_its_lake_is_short_and_valid(tmp_path: Path) -> None:
    lines = block("yaml")
    assert len(lines) <= 8
    (tmp_path / "lake.yaml").write_text("\n".join(lines))
    assert [table.name for table in load_lake(tmp_path / "lake.yaml").tables] == ["orders"]
    assert yaml.safe_load("\n".join(lines))["tables"]


def test_it_shows_commands_with_their_results_and_two_that_set_up_everything() -> None:
    (picture,) = re.findall(r"!\[[^]]+\]\((docs/images/terminal\.svg)\)", TEXT)
    drawn = ElementTree.parse(ROOT / picture).iter("{http://www.w3.org/2000/svg}text")
    words = " ".join((text.text or "").replace("\xa0", " ").strip() for text in drawn)
    commands = re.findall(r"\$ (tidegate [a-z]+)", words)
    assert commands == ["tidegate sql", "tidegate sql", "tidegate status"]
    assert "column price is double, and this is not: ?" in words
    assert [line.split("#")[0].strip() for line in block("console")] == ["make demo", "make test"]


def test_each_of_its_five_claims_links_to_a_proof() -> None:
    assert len(claims()) == 5
    proofs = {target for target, _ in links(README) if target.parent.name in ("internals", "decisions")}
    for claim in claims():
        linked = {(ROOT / target).resolve() for target in re.findall(r"\]\(([^)#]+)", claim)}
        assert linked & proofs, claim


def test_each_figure_is_in_the_page_of_measurements() -> None:
    figures = {whole or ratio for whole, ratio in FIGURE.findall(TEXT.partition("\n## ")[0])}
    assert len(figures) > 8
    missing = {figure for figure in figures if not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.])", BENCHMARKS)}
    assert not missing
