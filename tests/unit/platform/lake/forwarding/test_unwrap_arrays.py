from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.lake.forwarding.unwrap_arrays import json_lines

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(VALUES, max_size=6), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_an_array_becomes_a_line_for_each_element(values: list[Any], indent: Any, mark: bool) -> None:
    text = ("\ufeff" if mark else "") + json.dumps(values, indent=indent, ensure_ascii=False)
    lines = list(json_lines(text))
    assert [json.loads(line) for line in lines] == values
    assert not any("\n" in line or "\r" in line for line in lines)


@given(st.lists(VALUES, max_size=6))
def test_values_one_after_the_other_become_lines_too(values: list[Any]) -> None:
    if values and isinstance(values[0], list):
        return  # then the text is an array, and something follows it
    assert [json.loads(line) for line in json_lines("\n ".join(map(json.dumps, values)))] == values


def test_the_text_of_a_value_stays_as_it_is() -> None:
    text = '[ {"n": 1.50, "big": 123456789012345678901234567890, "n": 1e400} ,\r\n "é\\u00e9" , NaN ]\n'
    assert list(json_lines(text)) == [
        '{"n": 1.50, "big": 123456789012345678901234567890, "n": 1e400}',
        '"é\\u00e9"',
        "NaN",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[1, 2", "neither ',' nor ']' follows"),
        ("[1 2]", "neither ',' nor ']' follows the element of the array that ends at character 3"),
        ("[1,]", "not JSON"),
        ("[1] x", "something follows the array, at character 4"),
        ("{", "not JSON"),
        ("id,name", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_not_json_says_where(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        list(json_lines(text))


def test_nothing_has_no_line() -> None:
    assert list(json_lines("")) == list(json_lines(" [ ] ")) == []
