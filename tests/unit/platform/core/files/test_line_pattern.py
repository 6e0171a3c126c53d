"""A pattern of lines, as it is written in lake.yaml and as the server reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.files.line_pattern import MEANING, parse_line_pattern

#: What each construct matches, to Java as well: `TextLinesTest` of platform/jvm reads it.
_KNOWN = json.loads((Path(__file__).parents[3] / "data/patterns.json").read_text())


def test_named_groups_are_the_columns_in_their_order() -> None:
    pattern = parse_line_pattern(r"(?P<a>x)\(?P(y|z)[(?P<no>](?<b>[\])(]*)(?:w)(?i:v)(?<!u)\\(?P<c>.*)")
    assert pattern.names == ("a", "b", "c")
    assert pattern.groups == r"(x)\(?P(?:y|z)[(?P<no>]([\])(]*)(?:w)(?i:v)(?<!u)\\(.*)"


def test_the_groups_of_any_pattern_match_what_its_names_match() -> None:
    chance = Random(5)
    parts = [r"[^ ]*", r"a+", r"(b|c)", r"(?:d|(e))", r"\(", r"\\", r"[(?P<x>]", r"[\])]", r" ", r"\d{1,2}", r"(?=a)?"]
    for _ in range(3_000):
        names = iter("pqrstuvw")
        text = "".join(
            f"(?P<{next(names)}>{part})" if chance.random() < 0.4 else part
            for part in chance.choices(parts, k=chance.randint(1, 7))
        )
        if "(?P<p>" not in text:
            continue
        pattern = parse_line_pattern(text)
        line = "".join(chance.choices("abcde()\\ 1?P<x>]", k=chance.randint(0, 8)))
        written, read = re.fullmatch(text, line), re.fullmatch(pattern.groups, line)
        assert (written and written.groupdict()) == (read and dict(zip(pattern.names, read.groups(), strict=True)))


def test_a_pattern_may_have_many_groups_within_each_other() -> None:
    assert parse_line_pattern("(?P<a>" + "(?:" * 149 + ")" * 150).names == ("a",)


@pytest.mark.parametrize(
    "part",
    [
        *(r"[[b]]", r"[^ []*", r"[]b]", r"[^]]*", r"[^]b]*", r"[b&&c]", r"[&&a]", r"[\b]", r"[]", r"[\ud83d]"),
        *(r"(?x) b", r"(?x:b)", r"(?a)b", r"(?a:b)", r"(?u)b", r"(?u:b)", r"(?L)b", r"(?s:b)", r"(?m:b)", r"(?#b)"),
        *("{", "b{", "{,3}", "b{,3}", "b{x}", "b{99999999999}", "b{2,99999999999}", "(?i)b", "(?<!b", "(?~b)"),
        *(rf"\{letter}" for letter in "ABCEFGHIJKLMNOPQRTUVXYZabceghijklmopquvxyz0é"),
        *(r"\x1", r"\u12", r"\U0001F600", r"\N{DIGIT ONE}", r"\p{L}", r"\ud83d\ude00", r"\Qb\E", "\\"),
    ],
)
def test_a_part_that_engines_read_otherwise_is_refused(part: str) -> None:
    with pytest.raises(BadSetting, match=r"it cannot have|it is not a regular expression"):
        parse_line_pattern(f"(?P<a>{part})")


@pytest.mark.parametrize("part", _KNOWN["of_one_character"], ids=lambda part: part["pattern"])
def test_a_part_matches_the_characters_that_java_says(part: dict[str, str]) -> None:
    pattern = re.compile(parse_line_pattern(f"(?P<a>{part['pattern']})").groups, MEANING)
    assert "".join(filter(pattern.fullmatch, _KNOWN["characters"])) == part["matches"]


@pytest.mark.parametrize("part", _KNOWN["of_lines"], ids=lambda part: part["pattern"])
def test_a_pattern_cuts_lines_as_java_says(part: dict[str, Any]) -> None:
    pattern = parse_line_pattern(part["pattern"])
    assert pattern.groups == part["groups"]
    for line, *cells in part["lines"]:
        found = re.fullmatch(pattern.groups, line, MEANING)
        assert [cell or None for cell in found.groups()] == cells if found else not cells, line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a)", "it names no columns"),
        ("", "it names no columns"),
        ("(?P<a>b", "it is not a regular expression"),
        ("(?P<a>[b||c])", "it is not a regular expression"),
        ("(?P<a>" + "(?:" * 150 + ")" * 151, "it has more than 150 groups"),
        (r"(?P<a>b)\1", "a reference to a group"),
        ("(?P<a>b)(?P=a)", "a reference to a group"),
        ("(?P<a>b)?(?(a)c|d)", "a reference to a group"),
        ("(?P<a>b)(?P<A>c)", "it has two parts with the name"),
        ("(?P<a>b)(?P<a>c)", "it has two parts with the name a"),
    ],
)
def test_what_cannot_be_read_alike_everywhere_is_refused(text: str, expected: str) -> None:
    with pytest.raises(BadSetting, match=re.escape(expected)):
        parse_line_pattern(text)
