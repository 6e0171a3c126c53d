"""S3 Inventory instead of a listing: the differences that it shows, in each format, and what a run does with them."""

from __future__ import annotations

import itertools
import random
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from tests.support.lakes.inventory import FORMATS, Line, deliver
from tidegate.platform.bronze.listener import RunListener
from tidegate.platform.bronze.reconcile.inventory import Difference, compare_inventory, inventory_differences
from tidegate.platform.bronze.reconcile.listing import list_prefix
from tidegate.platform.core.bronze.ledger import LastState, Status, columns_of
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.lake.inventory.deliveries import newest_inventory
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
NOW = float(int(time.time()))
BEFORE, AFTER = NOW - 60, NOW + 60
_STATES = {"key": "STRING", **columns_of(LastState), "recorded_at": "TIMESTAMP"}


class Destination:
    """A bucket to which inventories are delivered."""

    def __init__(self) -> None:
        self.bucket = f"inventories-{uuid.uuid4().hex[:8]}"
        # Spark would take its characters for patterns.
        self.prefix = "all/land[i]n{g}*?\\/daily/"
        self.folder = f"s3://{self.bucket}/{self.prefix}"

    def deliver(self, lake: TestLake, lines: list[Line], created: float = NOW, **options: Any) -> None:
        existing = {bucket["Name"] for bucket in lake.clients.s3.list_buckets()["Buckets"]}
        if self.bucket not in existing:
            lake.clients.s3.create_bucket(Bucket=self.bucket)
        found = deliver(lines, prefix=self.prefix, source=lake.bucket, created=created, **options)
        found.put(lake.clients.s3, self.bucket)


def _last_states(lake: TestLake, states: dict[str, tuple[LastState, float]]) -> Any:
    rows = [
        (key, *({**vars(state), "status": str(state.status)}.values()), datetime.fromtimestamp(at, UTC))
        for key, (state, at) in states.items()
    ]
    ddl = ", ".join(f"{name} {kind}" for name, kind in _STATES.items())
    return lake.lake.delta.session.createDataFrame(rows, ddl)


def differences(
    lake: TestLake, folder: str, states: dict[str, tuple[LastState, float]], most: int = 1000, **options: Any
) -> tuple[list[Difference], int]:
    """Read all differences, in pages of `most`.

    Returns the differences and the number of keys in the inventory.
    """
    inventory = newest_inventory(lake.lake.store.objects, folder, lake.bucket)
    known = _last_states(lake, states)
    wanted = {"after": "", "left": False, **options}
    found: list[Difference] = []
    while True:
        page = inventory_differences(lake.lake.delta, inventory, "t/", known, limit=most, **wanted)
        found += page.found
        if len(page.found) < most:
            return found, page.keys
        wanted["after"] = page.found[-1].key


@pytest.mark.parametrize("format", FORMATS)
def test_f21_an_inventory_shows_exactly_the_changes_without_an_event(
    format: Literal["CSV", "ORC", "Parquet"], tidegate_lake: MakeLake
) -> None:
    """Keys have odd names. Changes that the ledger recorded after the start of the inventory are not shown."""
    lake, at, chance = tidegate_lake([]), Destination(), random.Random(14)
    lines: list[Line] = [
        Line("other/x", 1, "e1"),
        Line("t/_delta_log/0.json", 1, "e1"),
        Line("t/.hidden/x.csv", 1, "e1"),
    ]
    states: dict[str, tuple[LastState, float]] = {}
    wanted: list[tuple[str, str, int | None]] = []
    for number in range(200):
        name = chance.choice(["a", "b/c", "k=1/x y", "1+1", "50%41", "ü", "\U0001f30a", 'quo"te,', "_k=1/x"])
        key = f"t/{name}{number}.csv"
        recorded_at, newer = chance.choice([(BEFORE, False), (BEFORE, False), (AFTER, True)])
        fate = chance.choice(["told", "arrived", "overwritten", "gone", "removed", "moved", "back", "marker"])
        here, state = Line(key, number, "e1"), LastState(Status.COMMITTED, "e1", 1)
        if fate == "arrived":
            lines.append(here)
            wanted.append((key, "listed", number))
            continue
        if fate in ("overwritten", "back"):
            state = (
                LastState(Status.COMMITTED, "e0", 1) if fate == "overwritten" else LastState(Status.REMOVED, None, 1)
            )
            wanted += [] if newer else [(key, "listed", number)]
        if fate in ("gone", "marker"):
            wanted += [] if newer else [(key, "missing", None)]
        if fate in ("removed", "moved"):
            state = LastState(Status(fate), "e1", 1)
        states[key] = (state, recorded_at)
        if fate not in ("gone", "removed", "moved", "marker"):
            lines += [here, Line(key, 7, "e7", latest=False)]
        if fate == "marker":
            lines += [Line(key, None, None, marker=True), Line(key, 7, "e1", latest=False)]
    at.deliver(lake, lines, format=format)

    found, keys = differences(lake, at.folder, states)

    assert [(difference.key, difference.kind, difference.size) for difference in found] == sorted(
        wanted, key=lambda difference: difference[0].encode()
    )
    assert keys == sum(line.key.startswith("t/") and line.latest and not line.marker for line in lines) - 2


@pytest.mark.parametrize("completion", [None, "_SUCCESS"])
def test_a_listing_and_an_inventory_give_the_same_hints(completion: str | None, tidegate_lake: MakeLake) -> None:
    """For each status of the ledger, with the same bytes, other bytes and none known, of a key that exists or not."""
    at = Destination()
    options = {"completion": completion} if completion else {}
    lake = tidegate_lake([{"name": "t", "prefix": "t/", "format": "json", "inventory": at.folder, **options}])
    states: dict[str, LastState] = {}
    waiting: list[str] = []
    # A signal is a source only with `completion`. Each has a folder of its own, so it covers no file that waits.
    names = ("x.json", "_SUCCESS")
    for status, etag, here, name in itertools.product([None, *Status], ("same", "other", None), (True, False), names):
        key = f"t/{name}/{status}-{etag}-{here}/{name}".replace("_SUCCESS/", "signals/", 1)
        if here:
            lake.put(key, f'{{"id": "{key}"}}')
        if status is None:
            continue
        known = lake.clients.s3.head_object(Bucket=lake.bucket, Key=key)["ETag"].strip('"') if here else "0" * 32
        states[key] = LastState(status, {"same": known, "other": "1" * 32, None: None}[etag], 1)
        if status is Status.WAITING and etag == "same" and here and name == "x.json":
            waiting.append(key)
    lines = [
        Line(item["Key"], item["Size"], item["ETag"].strip('"'))
        for page in lake.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=lake.bucket)
        for item in page["Contents"]
    ]
    at.deliver(lake, lines)
    ledger: Any = SimpleNamespace(
        live_keys=lambda version: states,
        last_states=lambda version: _last_states(lake, {key: (state, BEFORE) for key, state in states.items()}),
    )
    table = replace(lake.lake.table(lake.key("t")), ledger=ledger)

    def hints() -> list[tuple[str, str, int | None]]:
        ids = [manifest.id for manifest in table.inbox.waiting_manifests()]
        found = [hint for manifest in table.inbox.read(ids) for hint in manifest.hints]
        table.inbox.delete(ids)
        return sorted((hint.key, hint.cause.name, hint.size) for hint in found)

    hints()
    list_prefix(table, Clock(1, 1))
    listed = hints()
    compare_inventory(table, Clock(1, 1), RunListener())
    assert hints() == listed
    (key,) = waiting
    assert (key in {hint[0] for hint in listed}) == (completion is None), "nothing would ever take it"


def test_pages_fields_that_are_left_out_and_files_that_are_still_in_s3(tidegate_lake: MakeLake) -> None:
    lake, at = tidegate_lake([]), Destination()
    lines = [Line(f"t/{name}", 1, "e1") for name in "abcde"]
    at.deliver(lake, lines, versions=False, without=["ETag", "Size"])
    committed = LastState(Status.COMMITTED, "e0", 1, bad_rows=0)
    states = {
        "t/a": (committed, BEFORE),
        "t/f": (committed, BEFORE),
        "t/b": (LastState(Status.REMOVED, None, 1), BEFORE),
    }
    found, keys = differences(lake, at.folder, states, most=2)
    assert [(difference.key, difference.kind, difference.size) for difference in found] == [
        ("t/b", "listed", None), ("t/c", "listed", None), ("t/d", "listed", None), ("t/e", "listed", None),
        ("t/f", "missing", None),
    ]  # fmt: skip
    assert keys == 5

    at.deliver(lake, lines[:3], created=NOW + 60, format="Parquet")
    left = {
        "t/a": (LastState(Status.COMMITTED, "e1", 1), BEFORE),
        "t/b": (LastState(Status.MOVED, "e1", 1), BEFORE),
        "t/c": (LastState(Status.QUARANTINED, "e1", 1), BEFORE),
    }
    assert differences(lake, at.folder, left) == ([], 3)
    found, _ = differences(lake, at.folder, left, left=True)
    assert [(difference.key, difference.kind, difference.state) for difference in found] == [
        ("t/a", "left", left["t/a"][0]),
        ("t/b", "left", left["t/b"][0]),
    ]
    inventory = newest_inventory(lake.lake.store.objects, at.folder, lake.bucket)
    lake.clients.s3.delete_object(Bucket=at.bucket, Key=inventory.files[0].key)
    empty = lake.lake.table(lake.key("t")).ledger.last_states(-1)
    with pytest.raises(InventoryError, match=re.escape(f"cannot compare the inventory {inventory.uri} with the")):
        inventory_differences(lake.lake.delta, inventory, "t/", empty, after="", limit=9, left=False)
    for later, files in ((120, 1), (180, 0)):
        at.deliver(lake, [], created=NOW + later, files=files)
        found, keys = differences(lake, at.folder, {"t/a": (committed, BEFORE)})
        assert ([(difference.key, difference.kind) for difference in found], keys) == ([("t/a", "missing")], 0)


def test_what_had_no_event_comes_in_by_the_inventory_and_what_is_newer_stays(tidegate_lake: MakeLake, kit: Any) -> None:
    """The run is started by hand, so it compares the inventory."""
    at = Destination()
    lake = tidegate_lake(
        [{"name": "orders", "prefix": "orders/", "format": "json", "max_files": 3, "inventory": at.folder}]
    )

    def land(name: str, id: int) -> None:
        lake.put(f"orders/{name}", kit.lines({"id": id}))

    def lose_events() -> None:
        for queue in lake.lake.queues:
            lake.clients.sqs.purge_queue(QueueUrl=queue.url)

    for id, name in enumerate(("told.json", "overwritten 1+1.json", "gone.json", "went.json")):
        land(name, id)
    lake.intake()
    kit.run(lake, "orders", listing=False)

    land("overwritten 1+1.json", 10)
    lake.delete("orders/gone.json")
    for id in (11, 12, 13):
        land(f"{id}/ü x.json", id)
    lake.put("orders/_SUCCESS", "")
    lose_events()
    lines = [
        Line(item["Key"], item["Size"], item["ETag"].strip('"'))
        for item in lake.clients.s3.list_objects_v2(Bucket=lake.bucket)["Contents"]
    ]
    lines += [Line("orders/gone.json", 9, "0" * 32, latest=False), Line("orders/gone.json", None, None, marker=True)]
    began = time.time()
    at.deliver(lake, lines, began)
    # These changes come after the start of the inventory, and events announce them as usual.
    land("late.json", 14)
    lake.delete("orders/went.json")
    land("11/ü x.json", 15)
    lake.intake()
    kit.run(lake, "orders", listing=False)
    assert kit.bronze(lake, "orders", "id") == [(0,), (1,), (14,), (15,), (2,), (3,)]

    metadata = kit.metadata(lake.materialize("bronze", "orders"))

    assert kit.bronze(lake, "orders", "id") == [(0,), (1,), (10,), (12,), (13,), (14,), (15,), (2,), (3,)]
    assert {key: status for key, (status, _) in kit.fate(lake, "orders").items()} == {
        "told.json": "committed", "overwritten 1+1.json": "committed", "gone.json": "removed", "went.json": "removed",
        "late.json": "committed", **{f"{id}/ü x.json": "committed" for id in (11, 12, 13)},
    }  # fmt: skip
    assert (metadata["inventory_keys"], metadata["inventory_differences"]) == (6, 4)
    assert (metadata["files"], metadata["removed"]) == (3, 1)
    assert metadata["inventory"].startswith(at.folder)
    assert metadata["inventory_created"] == pytest.approx(began, abs=0.002)
    assert lake.lake.store.inbox.waiting_manifests() == []
    metadata = kit.metadata(lake.materialize("bronze", "orders"))
    assert (metadata["inventory_differences"], metadata["batches"]) == (0, 0), "the same inventory tells nothing new"

    # This inventory is wrong. The run asks S3 and changes nothing. The first batch has no row at all.
    stale = [line for line in lines if line.key != "orders/told.json"] + [Line("orders/was.json", 1, "e1")]
    at.deliver(lake, stale, time.time() + 60)
    before = kit.bronze(lake, "orders", "id")
    metadata = kit.metadata(lake.materialize("bronze", "orders"))
    # went.json is not among the differences: its rows are in the table, whether or not its bytes are back in S3.
    assert (metadata["inventory_differences"], metadata["batches"], metadata["files"]) == (4, 2, 0)
    assert kit.bronze(lake, "orders", "id") == before
    assert lake.lake.store.inbox.waiting_manifests() == []
    assert kit.fate(lake, "orders")["told.json"] == ("committed", "")
