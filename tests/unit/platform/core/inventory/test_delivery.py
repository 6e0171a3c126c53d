"""Deliveries of S3 Inventory by their keys: what each is of, and which one counts."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

import pytest

from tidegate.platform.core.inventory.delivery import (
    Delivery,
    Subject,
    dropped_delivery,
    find_newer_folder,
    group_by_subject,
)
from tidegate.platform.core.inventory.manifest import Inventory, deliveries
from tidegate.platform.core.keys.table_key import TableKey

ACME = Subject("acme-landing", "all")

DROPPED_SUBJECT, TABLE = Subject("acme", "all"), TableKey("second", "inventory/")
NOW = datetime(2026, 11, 26, 7, 8, 59, 999, UTC)
ARN = "arn:aws-cn:s3:::second"
MANIFEST, CHECKSUM = dropped_delivery(DROPPED_SUBJECT, TABLE, ARN, NOW)


def test_the_key_of_a_checksum_says_bucket_configuration_and_time() -> None:
    found = Delivery.from_key(
        "destination-prefix/acme-landing/all/2016-11-06T21-32Z/manifest.checksum", "destination-prefix/"
    )
    assert found == Delivery(ACME, "2016-11-06T21-32Z")
    assert found.began_at == datetime(2016, 11, 6, 21, 32, tzinfo=UTC)
    assert Delivery.from_key("acme-landing/all/2016-11-06T21-32Z/manifest.checksum", "") == found
    assert str(found.subject) == "acme-landing by configuration all"


def test_two_configurations_of_a_bucket_are_two_subjects() -> None:
    found = [Delivery.from_key(f"p/acme/{name}/2016-11-06T21-32Z/manifest.checksum", "p/") for name in ("a", "b.c_d-1")]
    assert [delivery and delivery.subject for delivery in found] == [Subject("acme", "a"), Subject("acme", "b.c_d-1")]


@pytest.mark.parametrize(
    "key",
    [
        "p/acme/all/2016-11-06T21-32Z/manifest.json",
        "p/acme/all/data/d794c570-95bb-4271-9128-26023c8b4900.orc",
        "p/acme/all/hive/dt=2016-11-06-21-32/symlink.txt",
        "p/acme/all/2016-11-06/manifest.checksum",
        "p/acme/all/2016-11-06T21-32Z/x/manifest.checksum",
        "p/acme/2016-11-06T21-32Z/manifest.checksum",
        "p/account/acme/all/2016-11-06T21-32Z/manifest.checksum",
        "q/acme/all/2016-11-06T21-32Z/manifest.checksum",
        "p/acme/all/2016-11-06T21-32Z/xmanifest.checksum",
        "p/acme/all/2016-11-06T21-32Z-other/manifest.checksum",
        # Written by a person: there is no such day, or minute.
        "p/acme/all/2016-11-31T21-32Z/manifest.checksum",
        "p/acme/all/2016-11-30T21-60Z/manifest.checksum",
        "p/acme/all/2016-13-01T01-00Z-dropped/manifest.checksum",
    ],
)
def test_no_other_object_is_a_delivery(key: str) -> None:
    assert Delivery.from_key(key, "p/") is None


def test_deliveries_are_in_order_by_subject_and_configurations_do_not_mix() -> None:
    weekly = Subject("acme-landing", "weekly")
    given = [
        Delivery(ACME, "2026-01-30T01-00Z"),
        Delivery(weekly, "2026-02-01T01-00Z"),
        Delivery(ACME, "2026-01-31T01-00Z"),
    ]
    assert group_by_subject(given) == {ACME: [given[2], given[0]], weekly: [given[1]]}


def test_only_a_newer_inventory_of_the_same_subject_keeps_a_delivery_out() -> None:
    given = Delivery(ACME, "2026-01-31T01-00Z")
    assert find_newer_folder(given, {}) is None
    assert find_newer_folder(given, {ACME: "2026-01-31T01-00Z"}) is None, "the same delivery may be read again"
    assert find_newer_folder(given, {ACME: "2026-01-30T23-59Z"}) is None
    assert find_newer_folder(given, {ACME: "2026-01-31T01-01Z"}) == "2026-01-31T01-01Z"
    assert find_newer_folder(given, {Subject("acme-landing", "weekly"): "2026-02-01T00-00Z"}) is None


def test_it_is_an_empty_inventory_as_s3_would_write_it() -> None:
    objects = dropped_delivery(DROPPED_SUBJECT, TABLE, ARN, NOW)
    found = Inventory.from_manifest(objects[MANIFEST], f"s3://second/{MANIFEST}", "acme")
    assert (found.files, found.created) == ((), datetime(2026, 11, 26, 7, 8, tzinfo=UTC).timestamp())
    assert json.loads(objects[MANIFEST])["destinationBucket"] == ARN
    assert list(objects) == [MANIFEST, CHECKSUM], "the checksum is the signal, and comes last"
    assert objects[CHECKSUM].decode().strip() == hashlib.md5(objects[MANIFEST]).hexdigest()
    assert objects == dropped_delivery(DROPPED_SUBJECT, TABLE, ARN, NOW.replace(second=1)), (
        "a repeated command changes nothing"
    )


def test_it_counts_more_than_an_inventory_of_its_minute_and_less_than_a_later_one() -> None:
    dropped = Delivery.from_key(CHECKSUM, "inventory/")
    assert dropped == Delivery(DROPPED_SUBJECT, "2026-11-26T07-08Z-dropped")
    assert (dropped.is_drop, dropped.began_at) == (True, datetime(2026, 11, 26, 7, 8, tzinfo=UTC))
    same, later = Delivery(DROPPED_SUBJECT, "2026-11-26T07-08Z"), Delivery(DROPPED_SUBJECT, "2026-11-26T07-09Z")
    assert not same.is_drop
    assert find_newer_folder(same, {DROPPED_SUBJECT: dropped.began}) == dropped.began
    assert find_newer_folder(dropped, {DROPPED_SUBJECT: same.began}) is None
    assert find_newer_folder(later, {DROPPED_SUBJECT: dropped.began}) is None
    assert find_newer_folder(dropped, {DROPPED_SUBJECT: later.began}) == later.began


def test_no_table_of_files_is_reconciled_with_it() -> None:
    assert deliveries(["2026-11-25T01-00Z", "2026-11-26T07-08Z-dropped"]) == ["2026-11-25T01-00Z"]
