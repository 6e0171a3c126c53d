"""The deletion of files that no version needs: only the lake's own, only old ones, and none in a dry run."""

from __future__ import annotations

import time
from collections import Counter
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.seams import dying_in
from tidegate.platform.core.bronze.object_state import Probe, S3Forbidden, S3Found, S3Gone
from tidegate.platform.core.errors import DataError
from tidegate.platform.lake.aws.s3 import Listed, StoreError
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.maintenance import deletion
from tidegate.platform.maintenance import vacuum as vacuum_module
from tidegate.platform.maintenance.deletion import FreedObjects
from tidegate.platform.maintenance.vacuum import deleted_file_retention, log_retention, retention, vacuum, vacuum_all

ORDERS = "s3a://lake/root/bronze/landing.orders"
WEEK = timedelta(days=7)

FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"


class Objects:
    """Stands for S3: objects of one bucket with their age in days."""

    def __init__(self, ages: dict[str, float]) -> None:
        self.ages, self.asked = ages, list[str]()

    def list_under(self, bucket: str, prefix: str) -> list[Listed]:
        now = time.time()
        found = sorted(key for key in self.ages if key.startswith(prefix))
        return [Listed(key, "etag", 10, now - self.ages[key] * 86_400) for key in found]

    def head(self, bucket: str, key: str) -> Probe:
        self.asked.append(key)
        if key not in self.ages:
            return S3Gone()
        return S3Found("etag", 10, int((time.time() - self.ages[key] * 86_400) * 1000))

    def delete(self, bucket: str, keys: list[str]) -> None:
        for key in keys:
            del self.ages[key]


def lake_of(ages: dict[str, float], unneeded: list[str]) -> Any:
    """Return a lake whose VACUUM finds the given paths."""
    store = LakeRoot(Objects(ages), "s3://lake/root")  # type: ignore[arg-type]
    upkeep = SimpleNamespace(find_unneeded=lambda *_: [path for path in unneeded if path.split("lake/", 1)[1] in ages])
    return SimpleNamespace(store=store, delta=SimpleNamespace(upkeep=upkeep))


def key(name: str) -> str:
    return f"root/bronze/landing.orders/{name}"


def test_only_what_vacuum_finds_is_deleted_and_a_dry_run_deletes_nothing() -> None:
    ages = {key("old"): 9.0, key("live"): 9.0, key("k=ü/old"): 9.0}
    lake = lake_of(ages, [f"{ORDERS}/old", f"{ORDERS}/k=ü/old", f"{ORDERS}/gone"])
    assert vacuum(lake, ORDERS, WEEK, dry_run=True) == FreedObjects(2, 20)
    assert len(ages) == 3
    assert vacuum(lake, ORDERS, WEEK) == FreedObjects(2, 20)
    assert list(ages) == [key("live")]


def test_a_file_that_is_younger_than_the_retention_stays_and_so_does_the_log() -> None:
    ages = {key("young"): 6.9, key("old"): 7.1, key("_delta_log/0.json"): 99.0}
    lake = lake_of(ages, [f"{ORDERS}/young", f"{ORDERS}/old", f"{ORDERS}/_delta_log/0.json"])
    assert vacuum(lake, ORDERS, WEEK) == FreedObjects(1, 10)
    assert sorted(ages) == [key("_delta_log/0.json"), key("young")]


def test_what_an_inventory_has_is_deleted_only_if_it_is_old_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vacuum_module, "_AT_ONCE", 2)
    # Since the inventory one key was written again, and one was deleted.
    ages = {key("a"): 9.0, key("again"): 0.1, key("live"): 9.0, key("k=a%3Ab/c"): 9.0}
    lake = lake_of({**ages, key("gone"): 9.0}, [f"{ORDERS}/{name}" for name in ("again", "gone", "k=a%3Ab/c", "a")])
    lake.store.objects.ages = ages
    inventory: Any = object()
    assert vacuum(lake, ORDERS, WEEK, dry_run=True, inventory=inventory) == FreedObjects(2, 20)
    assert len(ages) == 4
    lake.store.objects.list_under = None  # nothing is listed
    assert vacuum(lake, ORDERS, WEEK, inventory=inventory) == FreedObjects(2, 20)
    assert sorted(ages) == [key("again"), key("live")]


def test_the_folder_is_listed_if_an_inventory_names_only_files_that_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vacuum_module, "MAX_FILES", 2)
    ages = {key("c"): 9.0, key("live"): 9.0}
    lake = lake_of(ages, [])
    by_inventory, by_listing = [f"{ORDERS}/a", f"{ORDERS}/b"], [f"{ORDERS}/c"]
    lake.delta.upkeep.find_unneeded = lambda *asked: by_listing if asked[-1] is None else by_inventory
    inventory: Any = object()
    assert vacuum(lake, ORDERS, WEEK, inventory=inventory, dry_run=True) == FreedObjects()
    assert vacuum(lake, ORDERS, WEEK, inventory=inventory) == FreedObjects(1, 10)
    assert list(ages) == [key("live")]
    by_inventory.pop()
    assert vacuum(lake, ORDERS, WEEK, inventory=inventory) == FreedObjects()
    # They are asked at a time, in any order.
    assert Counter(lake.store.objects.asked) == {key("a"): 3, key("b"): 2}


def test_nothing_outside_the_table_s_folder_is_deleted_whatever_an_inventory_has() -> None:
    other = "root/bronze/landing.orders2/a"
    ages = {other: 9.0, "orders/a": 9.0, key("a"): 9.0, key("_delta_log/0.json"): 9.0}
    lake = lake_of(ages, [])
    outside = [f"s3a://lake/{other}", "s3a://lake/orders/a", f"s3a://landing/{key('a')}", f"{ORDERS}/_delta_log/0.json"]
    lake.delta.upkeep.find_unneeded = lambda *_: outside
    for inventory in (None, object()):
        assert vacuum(lake, ORDERS, WEEK, inventory=inventory) == FreedObjects()  # type: ignore[arg-type]
    assert (len(ages), lake.store.objects.asked) == (4, [])


def test_an_object_that_s3_does_not_show_is_an_error() -> None:
    lake = lake_of({key("a"): 9.0}, [f"{ORDERS}/a"])
    lake.store.objects.head = lambda *_: S3Forbidden("Access Denied")
    with pytest.raises(StoreError, match=r"s3://lake/root/bronze/landing\.orders/a: Access Denied"):
        vacuum(lake, ORDERS, WEEK, inventory=object())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "location", ["s3a://landing/orders", "s3a://lake/elsewhere/orders", "s3a://lake/root-of-another/orders"]
)
def test_no_file_of_a_producer_is_deleted(location: str) -> None:
    ages = {f"{location.removeprefix('s3a://').split('/', 1)[1]}/file": 9.0}
    with pytest.raises(DataError, match="not below the lake root"):
        vacuum(lake_of(ages, [f"{location}/file"]), location, WEEK)
    assert len(ages) == 1


def test_a_run_that_dies_between_two_portions_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "_AT_ONCE", 2)
    ages = {key(str(number)): 9.0 for number in range(5)}
    lake = lake_of(ages, [f"{ORDERS}/{number}" for number in range(5)])
    with dying_in(deletion, "maintain-delete"):
        vacuum(lake, ORDERS, WEEK)
    assert len(ages) == 3
    assert vacuum(lake, ORDERS, WEEK) == FreedObjects(3, 30)
    assert not ages


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        (None, 168),
        ("interval 3 days", 72),
        ("interval 1 week", 168),
        ("INTERVAL 36 HOURS", 36),
        # VACUUM counts whole hours.
        ("interval 1 day 1 second", 25),
        ("interval 90 minutes", 2),
        ("interval 0 hours", 0),
    ],
)
def test_the_retention_of_a_table_is_that_of_its_properties_in_whole_hours(text: str | None, hours: int) -> None:
    properties = {"delta.deletedFileRetentionDuration": text} if text else {}
    delta: Any = SimpleNamespace(table_state=lambda _: SimpleNamespace(properties=properties))
    assert retention(delta, ORDERS) == timedelta(hours=hours)


def test_a_retention_that_cannot_be_read_is_refused() -> None:
    properties = {"delta.deletedFileRetentionDuration": "interval some time"}
    delta: Any = SimpleNamespace(table_state=lambda _: SimpleNamespace(properties=properties))
    with pytest.raises(ValueError, match="use weeks, days"):
        retention(delta, ORDERS)


def test_vacuum_is_asked_again_only_if_it_may_have_left_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vacuum_module, "MAX_FILES", 2)
    for files, asked in ((0, 1), (1, 1), (2, 2), (5, 3)):
        ages = {key(str(number)): 9.0 for number in range(files)}
        calls = []

        def unneeded(location: str, keep: timedelta, most: int, _: None, ages: Any = ages, calls: Any = calls) -> Any:
            calls.append(most)
            return [f"s3a://lake/{name}" for name in ages][:most]

        lake = lake_of(ages, [])
        lake.delta.upkeep.find_unneeded = unneeded
        assert vacuum_all(lake.delta, lake.store, ORDERS, WEEK) == FreedObjects(files, 10 * files)
        assert (len(calls), ages) == (asked, {}), files


@pytest.mark.parametrize(
    ("properties", "files", "log"),
    [
        ({}, timedelta(days=7), timedelta(days=30)),
        ({FILES: "interval 3650 days"}, timedelta(days=3650), timedelta(days=30)),
        ({FILES: "interval 3650 days", LOG: "interval 2 weeks 1 hour"}, timedelta(3650), timedelta(days=14, hours=1)),
        ({FILES: "INTERVAL 90 MINUTES", LOG: "interval 1 day"}, timedelta(minutes=90), timedelta(days=1)),
    ],
)
def test_files_and_log_have_retentions_of_their_own(
    properties: dict[str, str], files: timedelta, log: timedelta
) -> None:
    assert (deleted_file_retention(properties), log_retention(properties)) == (files, log)


def test_a_retention_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ValueError, match=f"{LOG} is 'ten years': use weeks, days, hours"):
        log_retention({LOG: "ten years"})
