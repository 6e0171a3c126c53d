"""Every count that is not the oracle's is a problem with a name, and what is broken on purpose is none."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from tidegate.platform.demo.events.report import Broken, EventsReport, show_events_report


def printed(report: EventsReport) -> str:
    console = Console(file=io.StringIO(), width=160)
    show_events_report(console, report)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_equal_counts_are_right_and_a_broken_subscriber_is_not_a_problem() -> None:
    report = EventsReport(types=200, events_sent=7, seconds=3.4)
    report.count("b compatible", "16 tables", 7, 7, "rows")
    report.compare("outcomes", {"committed": 7}, {"committed": 7})
    report.broken.append(Broken("a queue [deleted]", "3 messages wait", "create it"))
    assert report.ok
    text = printed(report)
    assert "Every count is what the oracle computed: 7 events of 200 types in 3 s" in text
    assert "a queue [deleted]" in text
    assert report.to_json()["ok"] is True


def test_a_wrong_count_is_named_with_what_it_must_be() -> None:
    report = EventsReport()
    report.count("b compatible", "16 tables", 1_007, 1_006, "rows")
    assert report.problems == ["b compatible, 16 tables: 1,006 rows, must be 1,007"]
    text = printed(report)
    assert "wrong: b compatible, 16 tables: 1,006 rows, must be 1,007" in text
    assert "Every count" not in text
    assert report.to_json()["ok"] is False


@pytest.mark.parametrize(
    ("expected", "found", "problem"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}, "it: b: 3, must be 2; c: 4, must be none"),
        ({"x", "y"}, {"y", "z"}, "it: missing x; too much z"),
        (3, 4, "it: 4, must be 3"),
        (set(map(str, range(8))), set(), "it: missing 0; missing 1; missing 2; missing 3; missing 4; and 3 more"),
    ],
)
def test_a_difference_names_what_differs(expected: Any, found: Any, problem: str) -> None:
    report = EventsReport()
    report.compare("it", expected, found)
    assert report.problems == [problem]
