"""SQL that is shown on one line means what it meant before."""

from __future__ import annotations

import pytest

from tidegate.platform.core.schema.sql_literal import format_on_one_line


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        ("SELECT a\n  FROM t ", "SELECT a FROM t"),
        ("SELECT 'a  b', \"c\n d\", `e  f` ,\n 'it''s  so'", "SELECT 'a  b', \"c\n d\", `e  f` , 'it''s  so'"),
        ("(\nv > 0 -- a sum\n)", "(\nv > 0 -- a sum\n)"),
        ("v /* it's */\n > 0", "v /* it's */\n > 0"),
        ("v = 'it\\'s  so'\n", "v = 'it\\'s  so'\n"),
    ],
)
def test_only_spaces_that_mean_nothing_are_joined(sql: str, line: str) -> None:
    assert format_on_one_line(sql) == line
