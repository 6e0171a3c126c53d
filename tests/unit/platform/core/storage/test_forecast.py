"""Forecasts: right where the past shows a trend, and honest where it shows none."""

from __future__ import annotations

import random
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.platform.core.storage import forecast as module
from tidegate.platform.core.storage.forecast import MIN_HISTORY, daily_values, forecast


def test_growth_by_the_same_each_day_continues() -> None:
    found = forecast([100 + 3 * day for day in range(60)], 30)
    assert found.values == pytest.approx([100 + 3 * day for day in range(60, 90)])
    assert (found.method, found.error, found.remark, found.tested_days) == ("drift", 0.0, "", 20)
    assert found.naive_error is not None
    assert found.naive_error > 0.1


def test_a_change_of_direction_is_forecast_better_by_the_trend() -> None:
    history = [1000.0] * 40 + [1000.0 + 50 * day for day in range(1, 41)]
    found = forecast(history, 10)
    assert found.method == "trend"
    assert found.error is not None
    assert found.naive_error is not None
    assert found.error < found.naive_error / 2


def test_smoothing_is_that_of_statsmodels() -> None:
    """Values of `statsmodels.tsa.holtwinters.Holt` 0.15.0 with the same weights and the same start."""
    history = [100 + 2 * day + (day * day % 7) for day in range(40)]
    assert module._trend(history, 3) == pytest.approx([181.65975255, 183.53203938, 185.36688049], abs=1e-8)


def test_where_nothing_is_better_the_last_value_is_the_forecast_with_a_remark() -> None:
    chance, walk = random.Random(1), [1000.0]
    for _ in range(90):
        walk.append(walk[-1] + chance.choice([-10, 10]))
    for history in (walk, [5.0] * 30):
        found = forecast(history, 30)
        assert found.values == (history[-1],) * 30
        assert (found.method, found.why_not) == ("last value", "no forecast was better than the last value")
        assert found.error == found.naive_error
        assert found.error is not None


def test_the_error_is_of_so_many_days_and_a_longer_forecast_says_that_it_may_be_larger() -> None:
    """A bucket that fills up: a month of it tests forecasts of 10 days, and 90 days ahead misses by 13 percent."""
    filling = [200 * (1 - 0.97**day) for day in range(31)]
    found = forecast(filling[:30], 90)
    assert found.error is not None
    assert found.tested_days == 10
    later = 200 * (1 - 0.97**119)
    assert abs(found.values[-1] - later) / later > 5 * found.error
    assert found.caution == "the error is of 10 days ahead, and 90 days ahead it may be much larger"
    assert found.remark == found.caution
    assert forecast(filling[:30], 30).caution == ""
    assert forecast(filling[:30], 31).caution != ""
    assert (forecast(filling[:30], 3).tested_days, forecast([1.0] * 5, 90).caution) == (3, "")


def test_where_nothing_came_the_error_is_unknown_and_not_zero() -> None:
    found = forecast([100.0] * 18 + [0.0] * 22, 30)
    assert (found.error, found.naive_error, found.tested_days) == (None, None, 13)
    assert found.caution == "the error is unknown, because all values of the 13 tested days are 0"
    assert found.values == (0.0,) * 30


def test_too_little_history_is_a_remark() -> None:
    found = forecast([1.0] * (MIN_HISTORY - 1), 30)
    assert (found.values, found.error) == ((), None)
    assert found.why_not == "13 days of history are too few: 14 are needed"


def test_a_day_without_an_inventory_has_the_value_of_the_day_before() -> None:
    assert daily_values({date(2026, 1, 1): 1.0, date(2026, 1, 4): 5.0, date(2026, 1, 3): 2.0}) == [1.0, 1.0, 2.0, 5.0]
    assert daily_values({}) == []


@given(st.lists(st.floats(0, 1e15), min_size=MIN_HISTORY, max_size=60), st.integers(1, 90))
def test_a_forecast_is_never_negative_nor_worse_than_the_last_value_was(history: list[float], days: int) -> None:
    found = forecast(history, days)
    assert len(found.values) == days
    assert min(found.values) >= 0
    assert (found.error is None) is (found.naive_error is None)
    assert found.error is None or found.naive_error is None or found.error <= found.naive_error
