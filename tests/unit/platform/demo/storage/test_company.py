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
    first, last = (sum(len(bucket.on(day)) for bucket in BUCKETS) for day in (0, 29))
    assert first < last < sum(len(bucket.objects) for bucket in BUCKETS)
