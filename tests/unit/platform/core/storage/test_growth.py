"""Growth of each bucket and of all together, from what their inventories had."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tidegate.platform.core.storage.growth import ALL, StoredDay, growth

FIRST = date(2026, 1, 1)


def day(bucket: str, number: int, size: int, configuration: str = "all") -> StoredDay:
    return StoredDay(bucket, configuration, FIRST + timedelta(days=number), size // 10, size)


def test_all_buckets_are_the_sum_of_each_also_on_days_without_an_inventory_of_some() -> None:
    found = growth([day("a", 0, 100), day("b", 1, 40), day("a", 3, 130), day("b", 3, 30)], 1)
    assert [line.bucket for line in found] == [ALL, "a", "b"]
    assert [list(line.history) for line in found] == [[100, 140, 140, 160], [100, 100, 100, 130], [40, 40, 30]]
    assert (found[0].first, found[0].objects) == (FIRST, 16)
    assert found[0].bytes.why_not == "4 days of history are too few: 14 are needed"


def test_the_last_of_two_inventories_of_a_day_counts() -> None:
    assert list(growth([day("a", 0, 100), day("a", 0, 70)], 1)[1].history) == [70]


def test_each_bucket_is_forecast_by_itself() -> None:
    days = [one for number in range(30) for one in (day("a", number, 100 * number), day("b", number, 500))]
    total, a, b = growth(days, 2)
    assert (a.bytes.method, b.bytes.method) == ("drift", "last value")
    assert (len(a.bytes.values), a.bytes.values[-1]) == (60, pytest.approx(100 * 89))
    assert total.bytes.values[-1] == pytest.approx(100 * 89 + 500)
    assert growth([], 1) == []
