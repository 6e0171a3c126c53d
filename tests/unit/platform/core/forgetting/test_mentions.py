"""Whether a text that is not a proper row names a subject. Java reads the same texts (`SuppressionTest`)."""

from __future__ import annotations

import json
import tracemalloc
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.forgetting.mentions import MAX_DIGITS, blanked_members, mentions, plain_number

VECTORS = json.loads((Path(__file__).parents[5] / "platform/jvm/src/test/resources/mentions.json").read_text())

#: For each text, all that is asked for. `MentionsTest` of platform/jvm reads them too.
PARTS = json.loads((Path(__file__).parents[5] / "platform/jvm/src/test/resources/mention_parts.json").read_text())
#: Each kind of part has each character of a text at most three times: once as it is, and twice without what is around.
MAX_ASKED = 20

TABLE = json.loads((Path(__file__).parents[5] / "platform/jvm/src/test/resources/numbers.json").read_text())
_FEW = st.integers(0, 45)


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["text"] or "empty" for vector in VECTORS])
def test_a_text_mentions_a_subject_by_a_word_a_cell_or_a_quoted_part(vector: dict[str, Any]) -> None:
    for subject in vector["mentions"]:
        assert mentions(vector["text"], subject.__eq__), subject
    for subject in vector["lacks"]:
        assert not mentions(vector["text"], subject.__eq__), subject


def test_each_part_of_a_long_text_is_asked_for_when_it_is_found() -> None:
    asked: list[str] = []
    text = "eva " + "x " * 1_000_000
    tracemalloc.start()
    assert mentions(text, lambda part: asked.append(part) or part == "eva")  # type: ignore[func-returns-value]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert asked == ["eva"]
    assert peak < len(text), "the parts that nobody asked for are held"


@pytest.mark.parametrize("text", PARTS)
def test_the_parts_of_any_text_are_the_same_in_both_languages(text: str) -> None:
    asked: set[str] = set()
    assert not mentions(text, lambda part: asked.add(part) is not None)  # type: ignore[func-returns-value]
    assert sorted(asked) == PARTS[text]


@pytest.mark.parametrize("start", ["", '"'])
@pytest.mark.parametrize(
    "repeated", ['\\"', '"', "\\", '"\\', " ", ",", "a,", '"a', "A", "AA==", "0", "1e", "\\u0041", "\n", "'"]
)
def test_what_is_asked_for_grows_as_the_text_does(start: str, repeated: str) -> None:
    text = start + repeated * (20_000 // len(repeated))
    asked = 0

    def is_known(part: str) -> bool:
        nonlocal asked
        asked += len(part)
        return False

    assert not mentions(text, is_known)
    assert asked <= MAX_ASKED * len(text)


@pytest.mark.parametrize(("plain", "spelled"), [(row["plain"], text) for row in TABLE for text in row["spelled"]])
def test_each_spelling_has_the_plain_one(plain: str | None, spelled: str) -> None:
    assert plain_number(spelled) == plain


@given(
    value=st.decimals(-(10**38), 10**38, places=0) | st.decimals(-(10**20), 10**20, places=12),
    shift=st.integers(-45, 45),
    zeros=st.tuples(_FEW, _FEW, _FEW),
    marks=st.tuples(st.sampled_from("eE"), st.sampled_from(["", "+"]), st.sampled_from(["", "+"]), st.booleans()),
)
def test_every_number_is_found_in_each_of_its_spellings(
    value: Decimal, shift: int, zeros: tuple[int, int, int], marks: tuple[str, str, str, bool]
) -> None:
    e, plus, of_exponent, point = marks
    with localcontext(prec=200):
        identity = format(value.normalize(), "f") if value else "0"
        text = format(abs(value.scaleb(-shift)), "f")
    whole, _, fraction = text.partition(".")
    sign = "-" if value < 0 else plus
    spelled = f"{sign}{'0' * zeros[0]}{whole}"
    if fraction or point:
        spelled += f".{fraction}{'0' * zeros[1]}"
    if shift or zeros[2]:
        spelled += f"{e}{'-' if shift < 0 else of_exponent}{'0' * zeros[2]}{abs(shift)}"
    assert plain_number(spelled) == identity
    for row in (f'{{"id": {spelled}, "a": ', f"7,{spelled},x", f'7;"{spelled}";x'):
        assert mentions(row, identity.__eq__)
        assert not mentions(row, f"{identity}1".__eq__)


@given(text=st.text("+-.,eE0123456789", max_size=12))
def test_what_is_not_a_number_has_no_plain_spelling(text: str) -> None:
    try:
        with localcontext(prec=MAX_DIGITS):
            value = Decimal(text.replace(",", ".", 1))
    except ArithmeticError:
        assert plain_number(text) is None
        return
    plain = plain_number(text)
    assert plain is None or Decimal(plain) == value
    assert plain is not None or abs(value.adjusted()) > MAX_DIGITS - len(text)


@pytest.mark.parametrize("text", ["9" * 5_000_000, "0" * 5_000_000 + ".e", "1." + "0" * 5_000_000 + "e-"])
def test_a_number_of_many_megabytes_ends(text: str) -> None:
    assert plain_number(text) is None


@pytest.mark.parametrize(
    ("text", "paths", "left"),
    [
        ('{"before":{"who":42},"after":{"n":1.10}}', [["before"]], '{"before":null,"after":{"n":1.10}}'),
        (' { "After" : [ "}" , 1 ] , "n":1e400}', [["after"]], ' { "After" : null , "n":1e400}'),
        (
            '{"p":{"before":"\\"x","after":7 },"before":1}',
            [["p", "before"]],
            '{"p":{"before":null,"after":7 },"before":1}',
        ),
        ('{"a":1,"A":{}, "b":"x"}', [["a"], ["b"]], '{"a":null,"A":null, "b":null}'),
        ('{"a":"x"}', [["b"], ["a", "b"]], '{"a":"x"}'),
        ("{ }", [["a"]], "{ }"),
        ('\ufeff {"a":1}', [["a"]], '\ufeff {"a":null}'),
    ],
)
def test_a_member_becomes_null_and_nothing_else_changes(text: str, paths: list[list[str]], left: str) -> None:
    assert blanked_members(text, paths) == left
