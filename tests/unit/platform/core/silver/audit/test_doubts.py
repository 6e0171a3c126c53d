"""Which keys are looked up, by some rows of both tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tidegate.platform.core.silver.audit.doubts import SampledTables, doubts_history, doubts_row
from tidegate.platform.core.silver.audit.dumps import Dumps
from tidegate.platform.core.silver.audit.intervals import HistoryRules, Interval, replay
from tidegate.platform.core.silver.audit.key_row import KeyRow
from tidegate.platform.core.silver.audit.row_outcomes import SilverRow

RULES = HistoryRules(("v",))
LAST = 100
WHOLE = SampledTables(bronze_is_whole=True, silver_is_whole=True)
NO_SILVER = SampledTables(bronze_is_whole=True, silver_is_whole=False)
NO_BRONZE = SampledTables(bronze_is_whole=False, silver_is_whole=True)
PARTS = SampledTables(bronze_is_whole=False, silver_is_whole=False)


def order(at: int) -> str:
    return json.dumps({"o1": at})


def row(at: int, n: int | None, v: str | None, **more: Any) -> KeyRow:
    text = json.dumps({} if v is None else {"v": v})
    return KeyRow(LAST - at, n, ("", "", 0, 0), text, order=order(at), **more)


ROWS = [row(1, 1, "a"), row(2, 2, "b"), row(3, 2, "b"), row(4, 3, None, deletes=True), row(5, 4, "c")]


def stored(rows: list[KeyRow], rules: HistoryRules = RULES) -> list[Interval]:
    found = [step.interval for step in replay(rows, (), rules).steps]
    ranks = {interval.order: interval.rank for interval in found}
    return [replace(each, until=None if each.valid_to is None else ranks[each.valid_to]) for each in found]


@pytest.mark.parametrize("sampled", [WHOLE, NO_SILVER, NO_BRONZE, PARTS])
def test_rows_that_fit_raise_no_doubt(sampled: SampledTables) -> None:
    assert not doubts_history(ROWS, stored(ROWS), RULES, sampled)
    if not sampled.bronze_is_whole:
        assert not doubts_history(ROWS[1:3], stored(ROWS), RULES, sampled)
    if not sampled.silver_is_whole:
        assert not doubts_history(ROWS, stored(ROWS)[::2], RULES, sampled)
        assert not doubts_history(ROWS, [], RULES, sampled)


@pytest.mark.parametrize("sampled", [WHOLE, NO_SILVER, NO_BRONZE, PARTS])
@pytest.mark.parametrize(
    ("place", "change"),
    [
        (0, {"valid_to": order(3), "until": LAST - 3}),
        (0, {"valid_to": None, "until": None, "is_current": True}),
        (1, {"joined": False}),
        (2, {"valid_from": order(3)}),
        (3, {"valid_from": order(2)}),
        (4, {"is_current": False}),
        (4, {"values": {"v": "x"}}),
    ],
)
def test_a_row_that_does_not_fit_those_next_to_it_is_looked_up(
    sampled: SampledTables, place: int, change: dict[str, Any]
) -> None:
    have = stored(ROWS)
    have[place] = replace(have[place], **change)
    assert doubts_history(ROWS, have, RULES, sampled)


def test_what_one_table_lacks_is_looked_up_if_the_other_is_whole() -> None:
    have = stored([*ROWS[:2], *ROWS[3:]])
    assert doubts_history(ROWS, have, RULES, WHOLE)
    assert doubts_history(ROWS[2:3], have, RULES, NO_BRONZE)
    assert not doubts_history(ROWS[2:3], have, RULES, PARTS)
    assert doubts_history(ROWS[:-1], stored(ROWS), RULES, WHOLE)
    # An equal order of a later batch replaced the row.
    later = stored([*ROWS, row(2, 3, "z")])
    assert not doubts_history(ROWS[1:2], later, RULES, NO_BRONZE)
    assert doubts_history([row(2, 5, "y")], later, RULES, PARTS)


@pytest.mark.parametrize("sampled", [WHOLE, NO_SILVER, NO_BRONZE, PARTS])
def test_a_key_that_silver_has_twice_is_looked_up(sampled: SampledTables) -> None:
    have = stored(ROWS)
    assert doubts_history(ROWS, [*have, have[1]], RULES, sampled)
    newest = replace(row(2, 2, None), values="b")
    silver = SilverRow("b", deleted=False, of_dumps=True)
    dumped = replace(sampled, dumps=Dumps.from_found([(LAST - 2, order(2))]))
    assert not doubts_row([newest], silver, LAST - 2, dumped)
    assert doubts_row([newest], replace(silver, rows=2), LAST - 2, dumped)


def test_a_truncate_separates_rows_of_equal_values() -> None:
    rules = replace(RULES, truncates=((LAST - 3, order(3)),))
    have = stored(ROWS, rules)
    assert not doubts_history([], have, rules, PARTS)
    assert doubts_history([], have, RULES, PARTS)


def test_a_current_row_that_is_older_than_a_dump_is_looked_up() -> None:
    rules = replace(RULES, of_dumps=True)
    dumps = Dumps.from_found([(LAST - 1, order(1)), (LAST - 2, order(2))])
    rows = [row(1, 1, "a")]
    gone = [replace(stored(rows)[0], valid_to=order(2), is_current=False)]
    for sampled in (replace(WHOLE, dumps=dumps), replace(PARTS, dumps=dumps)):
        assert doubts_history(rows, stored(rows), rules, sampled)
        assert not doubts_history(rows, gone, rules, sampled)


def test_a_row_that_is_not_a_change_raises_no_doubt_about_an_older_row_of_its_key() -> None:
    rules = replace(RULES, of_dumps=True)
    dumps = Dumps.from_found([(LAST - 1, order(1)), (LAST - 2, order(2))])
    rows = [row(1, 1, "a"), row(2, 2, "b", skipped=True)]
    silver = SilverRow(rows[0].values, deleted=False, of_dumps=True)
    for sampled in (replace(WHOLE, dumps=dumps), replace(PARTS, dumps=dumps)):
        assert not doubts_history(rows, stored(rows), rules, sampled)
        assert not doubts_row(rows, silver, LAST - 1, sampled)


@pytest.mark.parametrize(
    ("rows", "silver", "at", "whole", "parts"),
    [
        ([row(2, 2, "b")], SilverRow("b", deleted=False), 2, False, False),
        ([row(2, 2, "b")], SilverRow("x", deleted=False), 2, True, True),
        ([row(2, 2, "b")], SilverRow("b", deleted=False), 1, True, True),
        ([row(2, 2, "b")], None, None, True, False),
        ([row(1, 1, "a")], SilverRow("", deleted=True, of_dumps=True), 2, False, False),
        ([row(1, 1, "a")], SilverRow("a", deleted=False), 1, True, True),
        ([row(1, 1, "a")], None, None, False, False),
        ([row(2, 2, "b")], SilverRow("", deleted=True, of_dumps=True), 2, True, True),
        ([], SilverRow("b", deleted=False), 2, True, False),
    ],
)
def test_a_row_of_the_newest_dump_is_there_and_no_other(
    rows: list[KeyRow], silver: SilverRow | None, at: int | None, whole: bool, parts: bool
) -> None:
    dumps = Dumps.from_found([(LAST - 1, order(1)), (LAST - 2, order(2))])
    rank = None if at is None else LAST - at
    rows = [replace(each, values=json.loads(each.values)["v"]) for each in rows]
    assert doubts_row(rows, silver, rank, replace(WHOLE, dumps=dumps)) is whole
    assert doubts_row(rows, silver, rank, replace(PARTS, dumps=dumps)) is parts
    missing = silver is None and bool(rows) and rows[0].rank == LAST - 2
    assert doubts_row(rows, silver, rank, replace(NO_BRONZE, dumps=dumps)) is (parts or missing)
