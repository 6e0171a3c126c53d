"""Growth of each bucket and of all together, from what their inventories had."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tidegate.platform.core.inventory.delivery import Subject
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
    days = [
        stored_day for number in range(30) for stored_day in (day("a", number, 100 * number), day("b", number, 500))
    ]
    total, a, b = growth(days, 2)
    assert (a.bytes.method, b.bytes.method) == ("drift", "last value")
    assert (len(a.bytes.values), a.bytes.values[-1]) == (60, pytest.approx(100 * 89))
    assert total.bytes.values[-1] == pytest.approx(100 * 89 + 500)
    assert growth([], 1) == []


def test_buckets_that_are_enabled_one_after_the_other_are_not_growth() -> None:
    """Ten a day, each of a constant size. The sum of their histories grows by ten buckets a day."""
    days = [day(f"b{number}", at, 100) for at in range(20) for number in range(10 * (at + 1))]
    total = growth(days, 3)[0]
    assert (total.history[-1], total.bytes.values[-1], total.objects_ahead.values[-1]) == (20_000, 20_000, 2_000)
    assert (total.bytes.method, total.bytes.error, total.bytes.tested_days) == ("last value", 0.0, 4)
    assert total.bytes.why_not == "no forecast was better than the last value"


def test_a_bucket_that_was_emptied_has_no_bytes_from_that_day_on() -> None:
    total, other, emptied = growth([day("a", 0, 100), day("b", 0, 40), day("a", 1, 0), day("b", 2, 50)], 1)
    assert [list(line.history) for line in (total, other, emptied)] == [[140, 40, 50], [40, 40, 50], [100, 0, 0]]
    assert emptied.objects == 0


def test_a_bucket_that_was_dropped_counts_until_then_and_is_not_a_line() -> None:
    days = [day("a", 0, 100), day("gone", 0, 40), day("a", 2, 110), day("gone", 1, 0)]
    drops = {(Subject("gone", "all"), FIRST + timedelta(days=1))}
    found = growth(days, 1, drops=drops)
    assert {line.bucket: list(line.history) for line in found} == {ALL: [140, 100, 110], "a": [100, 100, 110]}
    back = growth([*days, day("gone", 2, 30)], 1, drops=drops)
    assert [list(line.history) for line in back if line.bucket == "gone"] == [[40, 0, 30]]
    assert [line.bucket for line in growth(days, 1)] == [ALL, "a", "gone"], "an empty bucket is not a dropped one"


def test_a_bucket_counts_once_while_its_configuration_is_renamed_and_the_old_one_is_dropped() -> None:
    """Its objects are the same on all days. Inventories of the old name come until day 3, of the new one from day 2."""
    old, new = (
        [day("a", number, 100, name) for number in range(*days)] for name, days in (("old", (0, 4)), ("new", (2, 7)))
    )
    for configuration in ("", "new", "old"):
        for dropped in (old[3], new[-1]):
            gone = day("a", 5 if dropped in old else 7, 0, dropped.configuration)
            drops = {(Subject("a", dropped.configuration), gone.day)}
            found = growth(
                sorted([*old, *new, gone], key=lambda stored_day: stored_day.day), 1, None, configuration, drops
            )
            assert [set(line.history) for line in found] == [{100}, {100}], (configuration, dropped)


def test_all_histories_end_on_the_same_day_and_so_do_the_forecasts() -> None:
    days = [day("a", number, 100) for number in range(40)] + [day("b", number, 10) for number in range(20)]
    total, a, b = growth(days, 1)
    assert (len(total.history), len(a.history), len(b.history)) == (40, 40, 40)
    assert total.bytes.values[-1] == a.bytes.values[-1] + b.bytes.values[-1] == 110


def test_a_history_begins_on_the_first_day_that_is_known_with_what_was_there() -> None:
    days = [day("a", 0, 100), day("b", 3, 40), day("a", 5, 130), day("c", 7, 1)]
    total, a, b, c = growth(days, 1, FIRST + timedelta(days=4))
    assert (total.first, a.first, b.first) == (FIRST + timedelta(days=4),) * 3
    assert [list(line.history) for line in (total, a, b, c)] == [
        [140, 170, 170, 171],
        [100, 130, 130, 130],
        [40, 40, 40, 40],
        [1],
    ]
