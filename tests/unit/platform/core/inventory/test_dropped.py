"""The delivery with which a bucket leaves the table of inventories."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

from tidegate.platform.core.inventory.delivery import Delivery, Subject, find_newer_folder
from tidegate.platform.core.inventory.dropped import dropped_delivery
from tidegate.platform.core.inventory.manifest import Inventory, deliveries
from tidegate.platform.core.keys.table_key import TableKey

ACME, TABLE = Subject("acme", "all"), TableKey("second", "inventory/")
NOW = datetime(2026, 11, 26, 7, 8, 59, 999, UTC)
ARN = "arn:aws-cn:s3:::second"
MANIFEST, CHECKSUM = dropped_delivery(ACME, TABLE, ARN, NOW)


def test_it_is_an_empty_inventory_as_s3_would_write_it() -> None:
    objects = dropped_delivery(ACME, TABLE, ARN, NOW)
    found = Inventory.from_manifest(objects[MANIFEST], f"s3://second/{MANIFEST}", "acme")
    assert (found.files, found.created) == ((), datetime(2026, 11, 26, 7, 8, tzinfo=UTC).timestamp())
    assert json.loads(objects[MANIFEST])["destinationBucket"] == ARN
    assert list(objects) == [MANIFEST, CHECKSUM], "the checksum is the signal, and comes last"
    assert objects[CHECKSUM].decode().strip() == hashlib.md5(objects[MANIFEST]).hexdigest()
    assert objects == dropped_delivery(ACME, TABLE, ARN, NOW.replace(second=1)), "a repeated command changes nothing"


def test_it_counts_more_than_an_inventory_of_its_minute_and_less_than_a_later_one() -> None:
    dropped = Delivery.of(CHECKSUM, "inventory/")
    assert dropped == Delivery(ACME, "2026-11-26T07-08Z-dropped")
    assert (dropped.is_drop, dropped.began_at) == (True, datetime(2026, 11, 26, 7, 8, tzinfo=UTC))
    same, later = Delivery(ACME, "2026-11-26T07-08Z"), Delivery(ACME, "2026-11-26T07-09Z")
    assert not same.is_drop
    assert find_newer_folder(same, {ACME: dropped.began}) == dropped.began
    assert find_newer_folder(dropped, {ACME: same.began}) is None
    assert find_newer_folder(later, {ACME: dropped.began}) is None
    assert find_newer_folder(dropped, {ACME: later.began}) == later.began


def test_no_table_of_files_is_reconciled_with_it() -> None:
    assert deliveries(["2026-11-25T01-00Z", "2026-11-26T07-08Z-dropped"]) == ["2026-11-25T01-00Z"]
