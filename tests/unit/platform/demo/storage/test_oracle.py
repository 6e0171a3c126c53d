from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from tidegate.platform.demo.storage.company import CompanyBucket
from tidegate.platform.demo.storage.oracle import (
    MONTHS,
    TRANSITION,
    advice,
    audits,
    dollars,
    expected_table,
    is_daily_inventory,
    manifest,
    may_deliver,
)
from tidegate.platform.demo.storage.stored_object import StoredObject

GIB = 1 << 30
FIRST = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("size", "storage_class", "wanted"),
    [
        (GIB, "STANDARD", 0.023),
        (GIB, "STANDARD_IA", 0.0125),
        (1, "STANDARD_IA", 0.0125 / 8_192),  # billed as 128 KiB
        (GIB - 32_768, "DEEP_ARCHIVE", 0.00099 + 0.023 / 131_072),  # 32 KiB more, and 8 KiB in STANDARD
        (0, "STANDARD", 0.0),
    ],
)
def test_an_object_costs_what_s3_bills(size: int, storage_class: str, wanted: float) -> None:
    assert dollars(StoredObject("k", size, storage_class, 0, None)) == pytest.approx(wanted)


def bucket(*objects: StoredObject, name: str = "a", daily: bool = True, stops: int | None = None) -> CompanyBucket:
    return CompanyBucket(name, daily, stops, FIRST, objects)


def test_a_bucket_has_what_its_newest_inventory_lists() -> None:
    objects = (
        StoredObject("old", 1, "STANDARD", -5, 8),
        StoredObject("new", 10, "STANDARD", 6, None),
        StoredObject("gone", 0, "", -5, None, is_marker=True),
    )
    found = expected_table([bucket(*objects, daily=False), bucket(*objects, name="b", stops=5)], 9)
    assert (found.rows, found.objects) == ({"a": 3, "b": 2}, {"a": 2, "b": 1}), "of the days 7 and 5"
    assert found.size == {"a": 11, "b": 1}
    assert found.late == {"b"}


def test_advice_is_for_old_and_large_objects_only() -> None:
    large = StoredObject("x/1", 10 * GIB, "STANDARD", -90, None)
    small = [StoredObject(f"x/{part}", 1_000, "STANDARD", -90, None) for part in range(9)]
    young, there = (StoredObject("x/2", GIB, kind, day, None) for kind, day in (("STANDARD", 0), ("STANDARD_IA", -90)))
    (saved,) = advice([bucket(large, *small, young, there)], 9)
    assert saved == pytest.approx(10 * (0.023 - 0.0125) * MONTHS - TRANSITION)
    month_old = StoredObject("x/3", 20 * GIB, "STANDARD", -40, None)
    assert advice([bucket(large, month_old)], 9) == [], "most are gone before they are 90 days old"


def test_audits_find_what_is_wrong() -> None:
    objects = [
        StoredObject("orders/known", 1, "STANDARD", 1, None),
        StoredObject("orders/lost", 1, "STANDARD", 1, None),
        StoredObject("orders/young", 1, "STANDARD", 9, None),
        StoredObject("logs/plain", 1, "STANDARD", 1, None, encrypted=False),
        StoredObject("logs/failed", 1, "STANDARD", 1, None, replication="FAILED"),
        StoredObject("logs/slow", 1, "STANDARD", 1, None, replication="PENDING"),
        StoredObject("logs/new", 1, "STANDARD", 9, None, replication="PENDING"),
        StoredObject("logs/twice", 1, "STANDARD", 1, None, is_latest=False),
        StoredObject("logs/twice", 0, "", 1, None, is_marker=True),
        StoredObject("logs/gone", 0, "", 1, None, is_marker=True),
    ]
    all_of_it = bucket(*objects)
    assert audits([all_of_it], 9, all_of_it, ["orders/known"]) == {
        "unencrypted": 1,
        "replication_failed": 1,
        "replication_pending": 1,
        "noncurrent": 1,
        "lone_delete_markers": 1,
        "orphaned": 1,
        "outside": 4,
    }
    odd = StoredObject("a b/50%,ü", 1, "STANDARD", 1, None, encrypted=False)
    assert manifest(bucket(odd), 9) == b"a,a%20b/50%25%2C%C3%BC\n"


def test_a_configuration_counts_only_if_the_table_can_use_its_inventories() -> None:
    target = {"Bucket": "arn:aws:s3:::to", "Format": "Parquet", "Prefix": "inventory"}
    fields = ["Size", "LastModifiedDate", "StorageClass", "EncryptionStatus", "ReplicationStatus", "ETag"]
    right = {
        "IsEnabled": True,
        "Schedule": {"Frequency": "Daily"},
        "IncludedObjectVersions": "All",
        "OptionalFields": fields,
        "Destination": {"S3BucketDestination": target},
    }
    assert is_daily_inventory(right, "to")
    assert not is_daily_inventory(right, "elsewhere")
    for wrong in (
        {"IsEnabled": False},
        {"Schedule": {"Frequency": "Weekly"}},
        {"IncludedObjectVersions": "Current"},
        {"OptionalFields": fields[1:]},
        {"Destination": {"S3BucketDestination": {**target, "Format": "CSV"}}},
        {"Destination": {"S3BucketDestination": {**target, "Prefix": "other"}}},
    ):
        assert not is_daily_inventory(right | wrong, "to")


def test_s3_may_deliver_only_if_the_policy_of_the_destination_says_so() -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "s3:PutObject",
        "Resource": "arn:aws:s3:::to/inventory/*",
    }
    assert may_deliver(json.dumps({"Statement": [{**statement, "Effect": "Deny"}, statement]}), "to")
    assert not may_deliver(json.dumps({"Statement": [{**statement, "Effect": "Deny"}]}), "to")
    assert not may_deliver(json.dumps({"Statement": [statement]}), "elsewhere")
    assert not may_deliver("", "to")
