"""The hours of a server that is only there for work, and the page that shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.server_hours import server_hours

_PAGE = (Path(__file__).parents[3] / "docs" / "operate" / "spark-on-demand.md").read_text(encoding="utf-8")
_ROWS = re.findall(r"^\| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", _PAGE, re.MULTILINE)
_DAYS = (
    [file * 86_400 / 100 for file in range(100)],
    [8 * 3600 + file * 9 * 3600 / 100 for file in range(100)],
    [2 * 3600 + file * 0.3 for file in range(100)],
)


@pytest.mark.parametrize("row", _ROWS)
def test_the_page_has_the_hours_that_the_arithmetic_gives(row: tuple[str, ...]) -> None:
    window, idle = int(row[0]), int(row[1])
    hours = [f"{server_hours(day, window=window, idle=idle, work=20):.2f}" for day in _DAYS]
    assert hours == list(row[2:])


def test_the_page_has_a_row_with_less_than_an_hour() -> None:
    assert len(_ROWS) == 4
    assert min(float(row[2]) for row in _ROWS) < 1


def test_a_server_that_is_still_there_is_not_started_again() -> None:
    assert server_hours([0, 100], window=0, idle=60, work=10) == pytest.approx((70 + 70) / 3600)
    assert server_hours([0, 50], window=0, idle=60, work=10) == pytest.approx(120 / 3600)
    assert server_hours([0, 5], window=0, idle=60, work=10) == pytest.approx(80 / 3600), "the second run follows"
    assert server_hours([0, 5], window=30, idle=60, work=10) == pytest.approx(70 / 3600), "one run takes both"
    assert server_hours([], window=0, idle=60, work=10) == 0
