"""`tidegate inventory drop-bucket`: what it shows, and what it writes."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from rich.console import Console

from tidegate.platform.bronze.prepare.inventories import newest_deliveries
from tidegate.platform.cli.answers.plans import DropAnswer
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory import drop_bucket
from tidegate.platform.core.keys.table_key import TableKey

NOW = datetime(2026, 11, 26, 7, 8, tzinfo=UTC)
KEYS = [
    f"inventory/{place}/manifest.checksum"
    for place in (
        "acme/daily/2026-11-20T01-00Z",
        "acme/weekly/2026-11-26T07-30Z",
        "other/daily/2026-11-26T01-00Z",
        "gone/daily/2026-11-01T01-00Z-dropped",
    )
]


class Written(dict[str, bytes]):
    """A store that keeps what is written."""

    region = "eu-central-1"

    def put_if_absent(self, bucket: str, key: str, body: bytes) -> bool:
        assert bucket == "second"
        self[key] = body
        return True


@pytest.fixture(autouse=True)
def _named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drop_bucket, "table_named", lambda lake, name: f"second.{name}")
    monkeypatch.setattr(newest_deliveries, "last_keys_of_folders", lambda ledger, version, count: KEYS)


def drop(
    store: Any,
    *buckets: str,
    inventories: bool = True,
    configuration: str = "",
    yes: bool = True,
    as_json: bool = False,
) -> str:
    ledger = SimpleNamespace(clock=lambda: SimpleNamespace(version=7))
    spec = SimpleNamespace(name="objects", has_inventories=inventories)
    table = SimpleNamespace(ledger=ledger, spec=spec, key=TableKey("second", "inventory/"))
    lake: Any = SimpleNamespace(table=lambda key: table)
    console = Console(file=StringIO(), width=200)
    drop_bucket.run_drop(console, lake, store, "objects", buckets, configuration, yes=yes, as_json=as_json, now=NOW)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_a_plan_writes_nothing() -> None:
    store = Written()
    assert drop(store, "acme", "gone", yes=False).splitlines() == [
        "acme by configuration daily: its newest inventory is of 2026-11-20 01:00 UTC",
        "acme by configuration weekly: its newest inventory is of 2026-11-26 07:30 UTC",
        "gone by configuration daily: was dropped",
        "2 would leave the table. With --yes they do",
    ]
    answer = DropAnswer.model_validate_json(drop(store, "acme", "gone", yes=False, as_json=True), strict=True)
    assert [
        (inventory.bucket, inventory.configuration, f"{inventory.newest:%m-%dT%H:%M}", inventory.dropped)
        for inventory in answer.inventories
    ] == [
        ("acme", "daily", "11-20T01:00", False),
        ("acme", "weekly", "11-26T07:30", False),
        ("gone", "daily", "11-01T01:00", True),
    ]
    with pytest.raises(CommandError, match="--json"):
        drop(store, "acme", as_json=True)
    assert store == {}


def test_each_configuration_gets_an_empty_inventory_after_its_last_one() -> None:
    store = Written()
    assert "2 are written" in drop(store, "acme")
    assert [key for key in store if key.endswith("checksum")] == [
        "inventory/acme/daily/2026-11-26T07-08Z-dropped/manifest.checksum",
        "inventory/acme/weekly/2026-11-26T07-30Z-dropped/manifest.checksum",
    ]
    store = Written()
    drop(store, "acme", configuration="daily")
    assert {key.split("/")[2] for key in store} == {"daily"}
    store = Written()
    assert "written" not in drop(store, "gone")
    assert store == {}


def test_what_cannot_be_dropped_is_named_and_nothing_is_written() -> None:
    store = Written()
    with pytest.raises(CommandError, match="no inventory of acne entered objects"):
        drop(store, "acme", "acne")
    with pytest.raises(CommandError, match="no inventory of other by configuration weekly entered objects"):
        drop(store, "other", configuration="weekly")
    with pytest.raises(CommandError, match="objects is not a table with `mode: inventory`"):
        drop(store, "acme", inventories=False)
    assert store == {}

    def refuse(*_: object) -> bool:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "PutObject")

    with pytest.raises(CommandError, match=r"s3://second/inventory/other/.*manifest.json: .*The command needs s3:PutO"):
        drop(SimpleNamespace(put_if_absent=refuse, region="eu-central-1"), "other")
