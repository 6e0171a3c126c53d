"""Each line of a list is a line on the page."""

from __future__ import annotations

from tidegate.assets.presentation.listed import listed


def test_each_line_is_an_item_of_a_list() -> None:
    assert listed(["a: 1", 2]).value == "- a: 1\n- 2"
