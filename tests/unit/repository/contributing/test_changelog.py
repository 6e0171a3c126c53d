"""The changelog begins with what is not released, and each version has one screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tidegate

ROOT = Path(__file__).resolve().parents[4]
MAX_LINES_OF_A_VERSION = 60
#: Parts of Keep a Changelog. What is deprecated is found by the name of its part.
PARTS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def changelog_problems(text: str, version: str) -> list[str]:
    """Return what is not as it should be in a changelog, if `version` is the newest one."""
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    titles = [section.partition("\n")[0] for section in sections]
    problems = []
    if titles[:2] != ["Unreleased", version]:
        problems.append(f"it begins with {titles[:2]}, not with Unreleased and {version}")
    if [title for title in titles[1:] if not re.fullmatch(r"\d+\.\d+\.\d+", title)]:
        problems.append("a section is not a version")
    for title, section in zip(titles, sections, strict=True):
        if title != "Unreleased" and len(section.rstrip().splitlines()) > MAX_LINES_OF_A_VERSION:
            problems.append(f"{title} is longer than a screen")
        parts = re.findall(r"^### (.+)$", section, re.MULTILINE)
        if parts != [part for part in PARTS if part in parts]:
            problems.append(f"{title} has the parts {parts}; their order is {', '.join(PARTS)}")
    return problems


def test_the_changelog_begins_with_what_is_not_released_and_has_a_screen_for_each_version() -> None:
    assert changelog_problems((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), tidegate.__version__) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("## Unreleased\n\n## 0.2.0\n\n### Added\n\n- a\n\n### Fixed\n\n- b\n\n## 0.1.0\n", None),
        ("## 0.2.0\n\n## 0.1.0\n", "it begins with"),
        ("## Unreleased\n\n## 0.1.0\n", "it begins with"),
        ("## Unreleased\n\n## 0.2.0\n\n## Older versions\n", "a section is not a version"),
        ("## Unreleased\n\n## 0.2.0\n" + "- a\n" * 60, "0.2.0 is longer"),
        ("## Unreleased\n" + "- a\n" * 60 + "## 0.2.0\n" + "- a\n" * 59, None),
        ("## Unreleased\n\n### Fixed\n\n### Added\n\n## 0.2.0\n", "Unreleased has the parts"),
        ("## Unreleased\n\n### Improved\n\n## 0.2.0\n", "Unreleased has the parts"),
        ("## Unreleased\n\n### Added\n\n### Added\n\n## 0.2.0\n", "Unreleased has the parts"),
    ],
)
def test_a_changelog_of_another_form_is_found(text: str, problem: str | None) -> None:
    problems = changelog_problems(text, "0.2.0")
    assert [found[: len(problem or "")] for found in problems] == ([problem] if problem else [])
