from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.keys.key_pattern import KeyPattern


@pytest.mark.parametrize(
    ("pattern", "key", "parts"),
    [
        (
            "events/{type}/date={date}/**",
            "events/orders/date=2026-01-02/a/b.json",
            {"type": "orders", "date": "2026-01-02"},
        ),
        ("events/{type}/date={date}/**", "events/orders/2026/b.json", None),
        ("events/{type}/**", "events/orders/", {"type": "orders"}),
        ("events/{type}/**", "events//a.json", None),
        ("a/{type}-{n}.json", "a/x-1-2.json", {"type": "x", "n": "1-2"}),
        ("a/{type}.json", "a/orders.v1.json", {"type": "orders.v1"}),
        ("a/{type}.json", "a/b/orders.json", None),
        ("a/*/x.json", "a//x.json", {}),
        ("a/*-{n}.json", "a/-2.json", {"n": "2"}),
        ("a.json", "aXjson", None),
        ("a.json", "a.json", {}),
        ("{type}/**", "täglich/ü\n.json", {"type": "täglich"}),
    ],
)
def test_a_key_matches_as_a_whole_and_in_one_way(pattern: str, key: str, parts: dict[str, str] | None) -> None:
    assert KeyPattern.parse(pattern).match(key) == parts


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("", "is not a pattern of a key"),
        ("/a", "is not a pattern of a key"),
        ("{a", "without its other half"),
        ("a}b", "without its other half"),
        ("{A}/x", "'A' is not a name of a part"),
        ("{}/x", "'' is not a name of a part"),
        ("{a}/{a}", "the part {a} comes twice"),
        ("{a}{b}", "nothing says where the first of two parts ends"),
        ("x/{a}*", "nothing says where the first of two parts ends"),
        ("a/**/b", "must be the last segment, alone"),
        ("a**", "must be the last segment, alone"),
        ("***", "must be the last segment, alone"),
    ],
)
def test_a_pattern_that_could_match_in_two_ways_is_refused(pattern: str, error: str) -> None:
    with pytest.raises(ValueError, match=re.escape(error)):
        KeyPattern.parse(pattern)


def test_the_literal_beginning_ends_at_the_first_wildcard() -> None:
    literals = [KeyPattern(text).literal for text in ("a/b{c}/**", "a/*", "**", "a/b.json")]
    assert literals == ["a/b", "a/", "", "a/b.json"]


@given(st.lists(st.text("ab-.", min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_key_made_of_parts_gives_these_parts(values: list[str]) -> None:
    names = [f"p{place}" for place in range(len(values))]
    pattern = KeyPattern.parse("/".join(f"{{{name}}}" for name in names))
    assert pattern.match("/".join(values)) == dict(zip(names, values, strict=True))


def test_no_key_makes_the_matching_go_back() -> None:
    """A pattern that backtracks takes for ever for such a key: the test would not end."""
    pattern = KeyPattern.parse("-".join(["*"] * 30) + "-{type}!")
    assert pattern.match("-" * 1000) is None
    assert KeyPattern.parse("*a" * 30 + "b").match("a" * 1024) is None
