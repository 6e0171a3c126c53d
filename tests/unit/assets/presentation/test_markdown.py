"""A text of a producer is shown, and is not a link, an image or HTML."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tidegate.assets.presentation.markdown import MAX_LINES, describe_table, list_lines, shown_lines
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.markdown import cell, code, prose
from tidegate.platform.core.wording import one_line

HOSTILE = [
    "![x](https://evil.example/beacon.png)",
    "[Your session expired: sign in](https://evil.example/login)",
    "<img src=https://evil.example/x>",
    "<https://evil.example>",
    "https://evil.example/x and www.evil.example",
    "a@evil.example",
    "mailto:a@evil.example",
    "`https://evil.example`",
    "``` https://evil.example",
    "[x]: https://evil.example",
    "# heading",
    "1. first",
    "- item",
    "> quote",
    "~~struck~~ **bold** _slanted_ x~2e~y",
    "a | b",
    "line\n\n![x](https://evil.example/y.png)",
    "$x$ &lt; \\[x](https://e.example)",
]
_READER = MarkdownIt("js-default", {"linkify": False, "html": True}).enable(["table", "strikethrough"])


def shown(markdown: str) -> tuple[str, set[str]]:
    """Return the letters that a page shows, and the kinds of what it has."""
    text, kinds = "", set()
    for block in _READER.parse(markdown):
        for token in block.children or []:
            kinds.add(token.type)
            text += token.content
    return text, kinds


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("write", [code, prose, lambda text: list_lines([text]).value])
def test_nothing_of_a_text_is_more_than_letters(text: str, write: object) -> None:
    markdown = write(text)  # type: ignore[operator]
    letters, kinds = shown(markdown)
    assert kinds <= {"text", "code_inline", "text_special"}, (markdown, kinds)
    assert letters == one_line(text.strip())
    without_code = re.sub(r"(`+) .*? \1|`[^`]*`", "", markdown.replace("\\`", ""))
    assert not re.search(r"://|www\.|@", without_code), "GitHub's Markdown makes links of these"


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(lambda text: text == text.strip()))
def test_letters_stay_letters(text: str) -> None:
    letters, kinds = shown(f"x{prose(text)}x")
    assert kinds <= {"text", "code_inline", "text_special"}
    assert letters.split() == f"x{one_line(text)}x".split()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_ends_where_it_should(text: str) -> None:
    rows = [token for token in _READER.parse(f"| a | b |\n|-|-|\n| {cell(text)} | end |") if token.type == "td_open"]
    assert len(rows) == 2


def test_each_line_is_an_item_of_a_list() -> None:
    assert list_lines(["a: 1", 2]).value == "- a: 1\n- 2"
    assert list_lines(["tidegate why x"], code).value == "- `tidegate why x`"


@pytest.mark.parametrize(("text", "shown"), [(None, "t"), ("Orders.", "Orders"), ("Orders: all. ", "Orders: all")])
def test_a_description_that_ends_with_a_stop_is_continued_without_it(text: str | None, shown: str) -> None:
    spec = TableSpec.model_validate({"name": "t", "prefix": "s3://landing/t/", "description": text})
    assert describe_table(spec) == shown


def test_a_table_has_all_lines_or_says_how_many_more_there_are_and_which_command_prints_them() -> None:
    def shown(count: int) -> dict[str, object]:
        found = shown_lines("by_bucket", range(count), lambda number: {"bucket": number}, "tidegate x")
        table = found.pop("by_bucket", None)
        assert (table is None) is (count == 0)
        assert [record.data["bucket"] for record in table.records] == list(range(min(count, 100))) if table else True
        return found

    assert MAX_LINES == 100
    assert shown(0) == shown(1) == shown(100) == {}
    assert shown(101) == {"more_by_bucket": "1 more lines: tidegate x --limit 101"}
    assert shown(4000) == {"more_by_bucket": "3,900 more lines: tidegate x --limit 4000"}
