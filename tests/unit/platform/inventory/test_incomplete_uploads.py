"""Of which buckets incomplete uploads are looked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tidegate.platform.bronze.prepare.inventories import newest_deliveries
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.inventory.incomplete_uploads import inventoried_buckets, uploads_report


def lake(monkeypatch: pytest.MonkeyPatch, *deliveries: str) -> Any:
    """Return a lake whose table of inventories has these newest deliveries."""
    keys = [f"inventory/{delivery}/manifest.checksum" for delivery in deliveries]
    monkeypatch.setattr(newest_deliveries, "last_keys_of_folders", lambda ledger, version, count: keys)
    ledger = SimpleNamespace(clock=lambda: SimpleNamespace(version=7))
    spec = SimpleNamespace(name="objects", has_inventories=True)
    return SimpleNamespace(
        table=lambda key: SimpleNamespace(ledger=ledger, spec=spec, key=TableKey("landing", "inventory/"))
    )


def test_each_bucket_that_delivers_is_looked_at_once_and_none_that_was_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    some = lake(
        monkeypatch,
        "acme/daily/2026-11-20T01-00Z",
        "acme/weekly/2026-11-20T01-00Z-dropped",
        "gone/daily/2026-11-20T01-00Z-dropped",
        "acme/other/2026-11-20T01-00Z",
    )
    assert inventoried_buckets(some, "landing.inventory") == ["acme"]
    assert inventoried_buckets(lake(monkeypatch, "gone/daily/2026-11-20T01-00Z-dropped"), "landing.inventory") == []
    with pytest.raises(InventoryError, match="objects has no inventories yet"):
        inventoried_buckets(lake(monkeypatch), "landing.inventory")


def test_a_bucket_that_was_deleted_is_named_with_the_command_that_drops_it() -> None:
    def incomplete(bucket: str) -> Any:
        code = "NoSuchBucket" if bucket == "gone" else "SlowDown"
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, "ListMultipartUploads")

    uploads: Any = SimpleNamespace(incomplete_uploads=incomplete)
    refused = uploads_report(uploads, ["gone", "slow"], 7).refused
    assert "tidegate inventory drop-bucket" in refused["gone"]
    assert "(SlowDown)" in refused["slow"]
