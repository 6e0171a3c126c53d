"""The end of a JSON value is found as Python's own parser finds it, and nothing of the value is built."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tidegate.platform.core.json_scanner import MAX_LEVELS, TooDeep, json_end

_DECODER = json.JSONDecoder(parse_int=str)
_SCALARS = [
    "0", "-0", "1.50", "-1e400", "12E-3", "true", "false", "null", "NaN", "Infinity", "-Infinity", '""', '"é"',
    '"\\u00e9\\\\\\""', '"\\ud800"', '"[1,{"', '"a\u2028b"', "9" * 5_000,
]  # fmt: skip
#: What a mistake may put anywhere.
_CHARACTERS = "[]{},:\"\\ \t\n\r\x00\x1f\x0b01-+.eEtfnNIu'aé\ufeff\u00a0٣"


def _document(chance: Random, levels: int) -> str:
    if not levels or chance.random() < 0.3:
        return chance.choice(_SCALARS)
    space = chance.choice(["", " ", "\n\t", "\r\n"])
    inner = [_document(chance, levels - 1) for _ in range(chance.randint(0, 3))]
    if chance.random() < 0.5:
        marks = "[]"
    else:
        marks = "{}"
        inner = [f'"k\\n"{space}:{space}{value}' for value in inner]
    return f"{marks[0]}{space}{f'{space},{space}'.join(inner)}{space}{marks[1]}"


def _python(text: str) -> int | None:
    try:
        return _DECODER.raw_decode(text)[1]
    except ValueError:
        return None


def _ours(text: str) -> int | None:
    try:
        return json_end(text, 0)
    except ValueError:
        return None


@pytest.mark.seeds(1, 20)
def test_a_value_ends_where_python_s_parser_says_or_is_none(seed: int) -> None:
    chance = Random(seed)
    outcomes = list[bool]()
    for _ in range(3_000):
        text = _document(chance, chance.randint(0, 7))
        for _ in range(chance.randint(0, 2)):
            place = chance.randint(0, len(text))
            text = text[:place] + chance.choice(["", *_CHARACTERS]) + text[place + chance.randint(0, 1) :]
        assert _ours(text) == _python(text), text
        outcomes.append(_python(text) is None)
    assert 300 < sum(outcomes) < 2_700, "of both kinds there are many"


def _nested(opening: str, closing: str, levels: int) -> str:
    return opening * levels + "1" + closing * levels


@pytest.mark.parametrize(("opening", "closing", "each"), [("[", "]", 1), ('{"a":', "}", 1), ('[{"a":[', "]}]", 3)])
def test_a_value_has_a_thousand_levels_whatever_is_in_them(opening: str, closing: str, each: int) -> None:
    for levels in (MAX_LEVELS // each, MAX_LEVELS // each + 1, 100_000):
        text = _nested(opening, closing, levels)
        if levels * each <= MAX_LEVELS:
            assert json_end(text, 0) == len(text)
        else:
            with pytest.raises(TooDeep):
                json_end(text, 0)


#: Elements that take many times their characters when they are built.
_SHAPES = ["[]", "{}", "[[]]", '{"a":1}', "1", '""', "[[[[[1]]]]]", '{"a":{"b":{"c":{}}}}', '"\\u00e9"', " 1 "]


@pytest.mark.parametrize("shape", _SHAPES)
def test_a_value_takes_no_memory_for_what_it_holds(shape: str) -> None:
    for text in (f"[{','.join([shape] * 30_000)}]", '[{"x":[' + ",".join([shape] * 30_000) + "]}]"):
        tracemalloc.start()
        assert json_end(text, 0) == len(text)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20_000, text[:40]


def test_the_time_is_asked_for_again_and_again_within_a_value() -> None:
    text = "[" + ",".join(["[[[1]]]"] * 1_000) + "," + ",".join(["1"] * 100_000) + "]"
    asked = list[int]()
    assert json_end(text, 0, lambda: asked.append(1)) == len(text)
    assert len(asked) > 1_000

    def over() -> Any:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        json_end(text, 0, over)


def _openings() -> Iterator[str]:
    for scalar in _SCALARS:
        yield f"[{scalar}"
        yield f'{{"a":{scalar},'


@pytest.mark.parametrize(
    "text", [*_openings(), "", "]", "[1,]", '{"a":1,}', "{1:2}", "[1 2]", "01x", "-", "'a'", "tru"]
)
def test_what_is_not_a_value_has_no_end(text: str) -> None:
    assert _ours(text) == _python(text)
