"""Which buckets are late, by the gap between their last two inventories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tidegate.platform.core.config.inventories import InventoriesSpec
from tidegate.platform.core.inventory.delivery import Delivery, Subject
from tidegate.platform.core.inventory.late_buckets import late_inventories, stale_inventories

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def deliveries(bucket: str, *days: float) -> list[Delivery]:
    """Return deliveries that were begun so many days ago."""
    return [Delivery(Subject(bucket, "all"), f"{NOW - timedelta(days=day):%Y-%m-%dT%H-%MZ}") for day in days]


def test_a_bucket_is_late_after_three_days_or_after_nine_if_its_inventory_is_weekly() -> None:
    given = [
        *deliveries("daily", 2.9, 3.9),
        *deliveries("daily-late", 4.9, 3.5, 5.9),
        *deliveries("weekly", 8.9, 15.9),
        *deliveries("weekly-late", 9.5, 16.5),
        *deliveries("first", 8.9),
        *deliveries("first-late", 10.0),
    ]
    late = late_inventories(given, NOW)
    assert [
        (late_inventory.subject.bucket, late_inventory.age.days, late_inventory.daily) for late_inventory in late
    ] == [
        ("first-late", 10, False),
        ("weekly-late", 9, False),
        ("daily-late", 3, True),
    ]
    assert str(late[2]) == (
        "daily-late by configuration all: a daily inventory, the newest is of 2026-11-22 00:00 UTC, 3 days old"
    )
    assert late_inventories([], NOW) == []


def test_a_weekly_inventory_whose_first_one_came_days_before_its_first_sunday_is_not_late_as_a_daily_one() -> None:
    friday, sunday = datetime(2026, 11, 20, 3, tzinfo=UTC), datetime(2026, 11, 22, 1, tzinfo=UTC)
    given = [Delivery(Subject("b", "all"), f"{day:%Y-%m-%dT%H-%MZ}") for day in (friday, sunday)]
    assert late_inventories(given, sunday + timedelta(days=6.9)) == []
    next_week = Delivery(given[0].subject, f"{sunday + timedelta(days=7):%Y-%m-%dT%H-%MZ}")
    assert late_inventories([*given, next_week], sunday + timedelta(days=13)) == []
    (late,) = late_inventories([*given, next_week], sunday + timedelta(days=16.1))
    assert not late.daily
    # Two of which the newer is of another day are daily, and three are whatever the day is.
    assert [late_inventory.daily for late_inventory in late_inventories(given[:1] + deliveries("b", 4.0), NOW)] == [
        True
    ]
    saturday = Delivery(given[0].subject, "2026-11-21T01-00Z")
    assert [late_inventory.daily for late_inventory in late_inventories([*given, saturday], NOW)] == [True]


def test_lake_yaml_says_the_schedule_and_which_buckets_should_have_an_inventory() -> None:
    spec = InventoriesSpec(buckets=("new", "daily*", "weekly"), configuration="all")
    given = [*deliveries("daily-first", 4.0), *deliveries("other", 4.0), *deliveries("weekly", 1.0)]
    late = late_inventories(given, NOW, spec)
    assert [(late_inventory.subject.bucket, late_inventory.daily) for late_inventory in late] == [
        ("new", True),
        ("daily-first", True),
    ]
    assert str(late[0]).startswith(
        "new by configuration all: no inventory has come yet. S3 delivers the first one within"
    )
    without = spec.model_copy(update={"buckets": ("!new", *spec.buckets)})
    assert [late_inventory.subject.bucket for late_inventory in late_inventories(given, NOW, without)] == [
        "daily-first"
    ]
    # Until the first inventories can have come, none is late.
    assert late_inventories(deliveries("weekly", 1.9), NOW, spec) == []
    weekly = spec.model_copy(update={"frequency": "weekly", "buckets": ("daily*",)})
    assert late_inventories(given, NOW, weekly) == []


def test_a_bucket_that_was_dropped_is_not_late_until_it_delivers_again() -> None:
    dropped = Delivery(Subject("gone", "all"), f"{NOW - timedelta(days=30):%Y-%m-%dT%H-%MZ}-dropped")
    assert late_inventories([*deliveries("gone", 40, 41), dropped], NOW) == []
    (late,) = late_inventories([*deliveries("gone", 20), dropped], NOW)
    assert (late.subject.bucket, late.age.days) == ("gone", 20)


def test_a_bucket_is_stale_if_others_are_newer_than_a_weekly_schedule_allows() -> None:
    newest = {
        Subject(bucket, "all"): NOW - timedelta(days=days)
        for bucket, days in {"newest": 3, "weekly": 12, "stale": 12.1, "deleted": 400}.items()
    }
    found = stale_inventories(newest)
    assert [(stale_inventory.subject.bucket, stale_inventory.days) for stale_inventory in found] == [
        ("deleted", 397),
        ("stale", 9),
    ]
    assert str(found[0]).startswith("deleted by configuration all: its newest inventory is of 2025-10-21, 397 days")
    assert stale_inventories({}) == []
