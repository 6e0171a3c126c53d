from __future__ import annotations

from tidegate.platform.demo.storage.company import company

BUCKETS = company(200, 30)


def test_the_same_company_is_made_again() -> None:
    assert [bucket.objects for bucket in BUCKETS] == [bucket.objects for bucket in company(200, 30)]


def test_a_tenth_of_the_buckets_has_a_daily_inventory_and_three_of_them_stop() -> None:
    deliveries = {bucket.name: [day for day in range(30) if bucket.delivers(day)] for bucket in BUCKETS}
    assert sorted(map(len, deliveries.values())) == [5] * 180 + [21] * 3 + [30] * 17
    assert all(days[0] == 0 for days in deliveries.values()), "each has one on the first day"


def test_buckets_grow_and_lose_objects() -> None:
    first, last = (sum(len(bucket.objects_on(day)) for bucket in BUCKETS) for day in (0, 29))
    assert first < last < sum(len(bucket.objects) for bucket in BUCKETS)


def test_in_a_small_company_no_weekly_inventory_is_of_the_last_day_either() -> None:
    """On the last day something goes wrong with two of them, so that their newest inventories are older."""
    for days in range(6, 31):
        some = company(91, days)
        assert not any(bucket.delivers(days - 1) for bucket in some if not bucket.daily)
        assert all(bucket.delivers(0) and bucket.delivers(days - 2) for bucket in some if not bucket.daily)
        assert sum(bucket.stops is not None for bucket in some) == 3
