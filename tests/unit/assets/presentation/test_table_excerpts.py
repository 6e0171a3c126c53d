"""Tables on pages say what they leave out."""

from __future__ import annotations

from tidegate.assets.presentation.table_excerpts import MAX_LINES, shown_lines


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
