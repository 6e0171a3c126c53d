"""Members of JSON that become null while the rest of the text stays byte for byte."""

from __future__ import annotations

import pytest

from tidegate.platform.core.forgetting.blanked_members import blanked_members


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
