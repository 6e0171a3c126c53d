"""The history of one key, computed row by row."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tidegate.platform.core.silver.audit.dumps import Dumps, with_gone
from tidegate.platform.core.silver.audit.explanations import copied_row_sentence, history_sentences
from tidegate.platform.core.silver.audit.intervals import HistoryRules, Interval, Replay, json_values, replay
from tidegate.platform.core.silver.audit.key_row import Fate, KeyRow

RULES = HistoryRules(("v",))
LAST = 100


def order(at: int) -> str:
    return json.dumps({"o1": at})


def row(at: int, n: int | None, v: Any = None, line: int = 0, **more: Any) -> KeyRow:
    values = {"v": v, **more.pop("values", {})}
    text = json.dumps({name: value for name, value in values.items() if value is not None})
    return KeyRow(LAST - at, n, ("s3://b/f", "", 0, line), text, order=order(at), **more)


def intervals(found: Replay) -> tuple[Interval, ...]:
    return tuple(step.interval for step in found.steps)


def shown(found: Replay) -> list[tuple[Any, str, str | None]]:
    """Return what the view shows, with the orders as they are in JSON."""
    return [
        (each.values.get("v"), _at(each.valid_from), each.valid_to and _at(each.valid_to))
        for each in intervals(found)
        if not each.deleted and not each.joined
    ]


def _at(text: str) -> Any:
    return json.loads(text)["o1"]


def fates(rows: list[KeyRow], rules: HistoryRules = RULES, stored: tuple[Interval, ...] = ()) -> list[Fate]:
    return [fate for fate, _ in history_sentences(rows, replay(rows, stored, rules))]


def test_a_change_opens_an_interval_and_ends_the_one_before() -> None:
    rows = [row(1, 1, "a"), row(3, 2, "b"), row(5, 3, "b"), row(7, 4, deletes=True), row(9, 5, "b")]
    found = replay(rows, (), RULES)
    assert shown(found) == [("a", 1, 3), ("b", 3, 7), ("b", 9, None)]
    assert [each.is_current for each in intervals(found)] == [False, False, False, False, True]
    assert [each.joined for each in intervals(found)] == [False, True, False, False, False]
    assert replay(rows, intervals(found), RULES).is_right
    assert history_sentences(rows, found) == [
        (Fate.OPENED, "opened the interval from 1, which ended at 3 by the next change"),
        (Fate.OPENED, "ended the interval from 1, and opened the interval from 3, which ended at 7 by a delete"),
        (Fate.JOINED, "its tracked values are those of the change before: part of the interval from 3"),
        (Fate.ENDED, "deleted the key, and ended the interval from 3"),
        (Fate.OPENED, "opened the interval from 9, which holds now"),
    ]


def test_a_late_change_cuts_an_interval_and_what_was_joined_is_apart() -> None:
    rows = [row(1, 1, "a"), row(5, 2, "a"), row(3, 3, "b"), row(0, 4, deletes=True)]
    found = replay(rows, (), RULES)
    assert shown(found) == [("a", 1, 3), ("b", 3, 5), ("a", 5, None)]
    assert fates(rows) == [Fate.OPENED, Fate.OPENED, Fate.CUT, Fate.TOMBSTONE]
    assert history_sentences(rows, found)[2][1] == (
        "came late, after batch 2, cut the interval from 1, and opened the interval from 3, which ended at 5 by the "
        "next change"
    )


def test_of_an_equal_order_the_last_row_counts_and_the_others_give_what_it_leaves() -> None:
    rows = [
        row(1, 1, "a", values={"w": "x"}),
        row(2, 1, "b", values={"w": "y"}),
        row(2, 2, "c", left=frozenset({"w"})),
        row(2, 2, "c", line=-1, left=frozenset({"w"})),
        row(3, 3, "d", left=frozenset({"w"})),
        row(4, 4, deletes=True),
        row(5, 5, "e", left=frozenset({"w"})),
    ]
    found = replay(rows, (), RULES)
    assert [each.values for each in intervals(found)] == [
        {"v": "a", "w": "x"},
        {"v": "c", "w": "y"},
        {"v": "d", "w": "y"},
        {},
        {"v": "e"},
    ]
    assert fates(rows)[1:4] == [Fate.TIE, Fate.OPENED, Fate.TIE]
    assert history_sentences(rows, found)[3][1] == "the same change as the row of batch 2"


def test_a_truncate_ends_what_is_valid_then_and_nothing_is_carried_over_it() -> None:
    rules = replace(RULES, truncates=((LAST - 4, order(4)), (LAST - 6, order(6))))
    rows = [row(1, 1, "a"), row(3, 1, "b"), row(4, 2, "b", left=frozenset({"w"}))]
    found = replay(rows, (), rules)
    assert shown(found) == [("a", 1, 3), ("b", 3, 4), ("b", 4, 6)]
    assert not any(each.is_current for each in intervals(found))
    assert history_sentences(rows, found)[2][1] == "opened the interval from 4, which ended at 6 by a truncate"


def test_rows_that_are_not_changes_have_no_interval() -> None:
    rows = [row(1, 1, "a"), row(2, 9, "b"), row(3, 2, skipped=True), row(4, 2, skipped=True, violated="positive")]
    rules = replace(RULES, mark=8)
    assert shown(replay(rows, (), rules)) == [("a", 1, None)]
    assert fates(rows, rules) == [Fate.OPENED, Fate.WAITS, Fate.SKIPPED, Fate.EXPECTATION]


@pytest.mark.parametrize(
    "change",
    [
        {"valid_from": order(2)},
        {"valid_to": order(9)},
        {"valid_to": None},
        {"is_current": True},
        {"joined": True},
        {"deleted": True},
        {"values": {"v": "x"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_silver_that_has_another_interval_is_wrong(change: dict[str, Any]) -> None:
    rows = [row(1, 1, "a"), row(3, 2, "b"), row(5, 3, "c")]
    stored = list(intervals(replay(rows, (), RULES)))
    other = replace(stored[1], **change)
    found = replay(rows, (stored[0], other, stored[2]), RULES)
    assert found.differing == ((stored[1], other),)
    assert replay(rows, (stored[0], stored[2]), RULES).differing == ((stored[1], None),)
    assert replay(rows[:2], stored, RULES).differing[-1] == (None, stored[2])


def test_what_left_bronze_stays_with_its_batch_and_cuts_what_bronze_gives() -> None:
    """Of a reset, with batch 0, or of files that were removed."""
    rows = [row(1, 1, "a"), row(5, 2, "c")]
    all_rows = [*rows, row(3, 0, "b")]
    stored = intervals(replay(all_rows, (), RULES))
    assert replay(rows, stored, RULES).is_right
    assert not replay(rows, [replace(each, n=1) for each in stored], RULES).is_right
    assert replay(rows, [replace(each, n=2) for each in stored], replace(RULES, is_gone=lambda n: n == 2)).is_right
    # A row of bronze with that order and a later batch replaces it.
    later = [*rows, row(3, 4, "new")]
    assert not replay(later, stored, RULES).is_right
    assert replay(later, intervals(replay(later, (), RULES)), RULES).is_right
    # Silver keeps a row that replaced one of bronze, and whose file was removed.
    first = [row(1, 1, "a"), row(1, 2, "b")]
    stored = intervals(replay(first, (), RULES))
    rules = replace(RULES, is_gone=lambda n: n == 2)
    assert replay(first[:1], stored, rules).is_right
    assert fates(first[:1], rules, stored) == [Fate.TIE]
    assert not replay(first[:1], stored, RULES).is_right


def test_a_value_that_a_lost_row_gave_is_taken_as_silver_has_it() -> None:
    rows = [row(1, 1, "a", left=frozenset({"w"})), row(2, 2, "a", left=frozenset({"w"}))]
    stored = intervals(replay([row(1, 1, "a", values={"w": 5}), rows[1]], (), RULES))
    assert not replay(rows, stored, RULES).is_right
    assert replay(rows, stored, replace(RULES, trusts_left=True)).is_right


def test_rows_of_one_batch_or_of_an_unknown_one_may_have_changed_places() -> None:
    rows = [row(1, 1, "a", line=2), row(1, 1, "b", line=1), row(2, 2, "b")]
    stored = intervals(replay([rows[1], rows[2]], (), RULES))
    found = replay(rows, stored, RULES)
    assert found.is_right
    assert shown(found) == [("b", 1, None)]
    unknown = [row(1, None, "b"), row(1, 1, "a"), rows[2]]
    assert replay(unknown, stored, RULES).is_right


def test_of_a_key_with_too_many_rows_the_oldest_that_was_read_is_taken_as_silver_has_it() -> None:
    rows = [row(at, at, "ab"[at // 3 % 2]) for at in range(1, 9)]
    stored = intervals(replay(rows, (), RULES))
    assert replay(rows[3:], stored, RULES, is_cut=True).is_right
    assert not replay(rows[4:], stored, RULES).is_right
    assert not replay(rows[3:], stored[:-1], RULES, is_cut=True).is_right


def test_a_key_that_the_next_dump_does_not_have_is_gone() -> None:
    dumps = Dumps.from_found((LAST - at, order(at)) for at in (1, 2, 3, 5))
    rows = with_gone([row(1, 1, "a"), row(3, 2, "a"), row(9, 3, "a", skipped=True)], dumps, mark=9)
    assert [_at(each.order) for each in rows if each.is_implied] == [2, 5]
    rules = replace(RULES, of_dumps=True)
    found = replay(rows, (), rules)
    assert shown(found) == [("a", 1, 2), ("a", 3, 5)]
    assert history_sentences(rows, found)[-1] == (
        Fate.GONE,
        "the dump 5 does not have the key: that ended the interval from 3",
    )
    # A dump that comes late leaves a delete of the dump after it, which the view does not show.
    more = [*intervals(found), replace(intervals(found)[-1], rank=0, order=order(100), valid_from=order(100))]
    assert replay(rows, more, rules).is_right
    assert not replay(rows, more, RULES).is_right
    assert with_gone([row(5, 1, "a")], dumps, mark=9) == [row(5, 1, "a")]


def test_a_row_that_is_not_a_change_shows_that_its_dump_has_the_key() -> None:
    dumps = Dumps.from_found((LAST - at, order(at)) for at in (1, 2, 3))
    rows = [row(1, 1, "a"), row(2, 2, "b", skipped=True), row(2, 2, "c", violated="known")]
    assert [_at(each.order) for each in with_gone(rows, dumps, mark=9) if each.is_implied] == [3]
    waits = with_gone(rows, dumps, mark=1)
    assert [_at(each.order) for each in waits if each.is_implied] == [2]


def test_values_are_equal_if_they_are_for_spark() -> None:
    assert json_values('{"d":0.10,"z":-0.0,"m":{"b":1,"a":2}}') == json_values('{"z":0.0,"d":0.10,"m":{"b":1,"a":2}}')
    for text in ('{"d":0.1}', '{"d":"0.10"}', '{"d":0.10000000000000001}', "{}"):
        assert json_values('{"d":0.10}') != json_values(text)
    assert json_values('{"m":[{"b":1,"a":2}]}') == json_values('{"m":[{"a":2,"b":1}]}'), "the entries of a map"
    assert json_values('{"m":{"b":1,"a":2}}') != json_values('{"m":{"a":1,"b":2}}')
    assert json_values('{"l":[1,2]}') != json_values('{"l":[2,1]}')


def test_a_row_that_silver_has_twice_is_a_fault() -> None:
    rows = [row(1, 1, "a"), row(2, 2, "b")]
    have = intervals(replay(rows, (), RULES))
    assert replay(rows, have, RULES).is_right
    found = replay(rows, (*have, have[0]), RULES)
    assert (found.is_right, found.differing, found.copies) == (False, (), (have[0],))
    assert copied_row_sentence("silver.t", 2, found.copies[0].order).startswith(
        "silver.t has 2 rows of the change of order 1, and"
    )
