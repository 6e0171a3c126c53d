"""Ingest: which lines of a list become hints of which tables, in what order, and where it continues."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import dying_in
from tidegate.platform.bronze.look import _select_manifests, _sort_manifests
from tidegate.platform.bronze.record import _put_back
from tidegate.platform.core.bronze.hint import Event, Hint, Listed
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.lake.lake_root.inbox import Backlog, WaitingManifest
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.operations import ingest as module
from tidegate.platform.operations.ingest import IngestRequest, ListedObjects, ingest, read_addresses, read_list

CONFIG = LakeConfig.model_validate(
    {
        "lake": {"root": "s3://lake/root"},
        "queues": [{"name": "events"}],
        "buckets": ["landing"],
        "max_files": 100,
        "tables": [{"name": "orders", "prefix": "s3://landing/shop/orders/", "format": "json", "max_files": 30}],
    }
)
ORDERS, CLICKS = "landing.shop.orders", "landing.clicks"
#: Keys that a spelling, an encoding or a line end could change.
KEYS = ["a b.json", "100%.json", "a+b.json", "a,b.json", 'a"b.json', "ö.json", " a.json ", "a\tb.json", "a=1/b#c.json"]


@pytest.fixture
def lake() -> Any:
    return SimpleNamespace(config=CONFIG, store=LakeStore(Objects(), CONFIG.lake.root))  # type: ignore[arg-type]


def lines_of(*addresses: str) -> list[bytes]:
    return [f"{address}\n".encode() for address in addresses]


def keys_in_inbox(lake: Any, table: str) -> list[list[str]]:
    """Return the keys of each manifest, oldest first."""
    inbox = lake.store.inbox.table_inbox(table)
    manifests = inbox.read([waiting.id for waiting in inbox.waiting_manifests()])
    assert all(hint.cause == Listed() for manifest in manifests for hint in manifest.hints)
    return [[hint.key for hint in manifest.hints] for manifest in manifests]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_line_names_its_key_as_it_is(key: str, end: str) -> None:
    address = f"s3://landing/orders/{key}"
    cell = io.StringIO()
    csv.writer(cell, quoting=csv.QUOTE_ALL, lineterminator=end).writerow([address])
    expected = [(1, S3Address("landing", f"orders/{key}"))]
    for line in (address + end, cell.getvalue(), "\ufeff" + address + end):
        assert list(read_addresses([line.encode()], "keys")) == expected


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"landing/orders/1.json", "is not of the form s3://bucket/key"),
        (b"s3a://landing/orders/1.json", "is not of the form s3://bucket/key"),
        (b"s3:///orders/1.json", "is not of the form s3://bucket/key"),
        (b"s3://landing", "the object key is empty"),
        (b"s3://landing/", "the object key is empty"),
        (b"s3://landing/" + b"k" * 1025, "1,?024"),
        (b"s3://landing/\xff.json", "its bytes are not UTF-8 from position 13 on"),
        (b'"s3://landing/a.json","12"', "it has 2 cells"),
        (b'"s3://landing/a.json', "unexpected end of data"),
    ],
)
def test_a_line_that_names_no_object_is_an_error_of_this_line(line: bytes, why: str) -> None:
    read = read_addresses([b"s3://landing/orders/1.json\n", b"\n", line], "keys.txt")
    assert next(read)[0] == 1
    with pytest.raises(DataError, match=f"line 3 of keys.txt: .*{why}"):
        next(read)


def test_a_plan_says_which_tables_the_objects_belong_to_and_changes_nothing(lake: Any) -> None:
    found = read_list(
        lake,
        lines_of(
            "s3://landing/shop/orders/1.json",
            "s3://landing/shop/orders/_tmp/2.json",
            "s3://landing/clicks/1.csv",
            "s3://elsewhere/1.csv",
            "s3://elsewhere/2.csv",
        ),
        IngestRequest("somebody", "keys"),
    )
    assert (found.lines, found.tables, found.new, found.objects) == (5, {ORDERS: 1, CLICKS: 1}, {CLICKS}, 2)
    counts = {without.first: without.objects for without in found.without_table.values()}
    assert counts == {"s3://landing/shop/orders/_tmp/2.json": 1, "s3://elsewhere/1.csv": 2}
    assert lake.store.objects.bodies == {}


def test_reasons_of_any_number_of_folders_are_bounded() -> None:
    found = ListedObjects()
    for number in range(1500):
        found.add_without_table(f"reason {number}", S3Address("b", str(number)))
    assert len(found.without_table) == 1001
    assert vars(found.without_table["other reasons"]) == {"objects": 500, "first": "s3://b/1000"}


def test_the_objects_become_hints_in_their_order_at_the_rate_that_was_asked_for(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BOUNDED_SECONDS", 2)
    slept: list[float] = []
    said: list[str] = []
    request = IngestRequest("somebody", "keys", rate=2, log=said.append, sleep=slept.append)
    addresses = [f"s3://landing/shop/orders/{i}.json" for i in range(7)]
    found = ingest(lake, lines_of(*addresses, "s3://landing/clicks/1.csv"), request)
    assert (found.objects, found.lines) == (8, 8)
    # No manifest has more hints than a batch of its table.
    keys = [f"shop/orders/{i}.json" for i in range(7)]
    assert keys_in_inbox(lake, ORDERS) == [keys[:3], keys[3:4], keys[4:]]
    assert keys_in_inbox(lake, CLICKS) == [["clicks/1.csv"]]
    assert slept == [2.0]
    assert said[-1].startswith("8 objects are in the inbox, up to line 8 of keys.")
    (entry,) = lake.store.operations.entries()
    assert (entry["operation"], entry["by"], entry["list"], entry["after_line"]) == ("ingest", "somebody", "keys", 0)


def test_an_ingest_that_ends_early_says_where_to_continue(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINES_AT_ONCE", 2)
    addresses = [f"s3://landing/shop/orders/{i}.json" for i in range(5)]
    keys = [[f"shop/orders/{i}.json" for i in part] for part in ((0, 1), (2, 3), (4,))]
    said: list[str] = []
    request = IngestRequest("somebody", "keys", log=said.append, sleep=lambda _: None)

    # Died with a part in the inbox: the part may come twice, and none is lost.
    with dying_in(module, "ingest-manifest"):
        ingest(lake, lines_of(*addresses), request)
    assert keys_in_inbox(lake, ORDERS) == keys[:1]

    # A line that is not valid: all lines before it are in the inbox.
    with pytest.raises(DataError, match="line 4 of keys"):
        ingest(lake, [*lines_of(*addresses[2:]), b"?\n"], request)
    assert keys_in_inbox(lake, ORDERS) == keys
    assert said[-1].endswith("--after-line 3")

    # From a line on.
    lake.store.objects.bodies.clear()
    ingest(lake, lines_of("?", *addresses), IngestRequest("somebody", "keys", after_line=3, sleep=lambda _: None))
    assert keys_in_inbox(lake, ORDERS) == [["shop/orders/2.json", "shop/orders/3.json"], ["shop/orders/4.json"]]


def test_listed_objects_come_after_events_and_nothing_of_them_is_late(lake: Any) -> None:
    ingest(lake, lines_of("s3://landing/shop/orders/1.json"), IngestRequest("somebody", "keys"))
    (listed,) = lake.store.inbox.waiting_manifests(ORDERS)
    assert listed.id.startswith("listed-")
    assert Backlog.from_manifests(ORDERS, [listed]).oldest == float("inf")

    def waiting(manifest_id: str, hints: int = 3) -> WaitingManifest:
        return WaitingManifest(ORDERS, manifest_id, hints, 9e9)

    event, note = waiting("7ZZZZZZZZZ000000000000000A-3-9-0"), waiting("lost-7ZZZZZZZZZ000000000000000A-3-9-0")
    rebuild, later = waiting(f"rebuild-{listed.id[7:]}"), waiting(f"listed-{event.id}")
    put_back = waiting("listed-deferred-00000000000000000001-aaaaaaaa-3-9-0")
    some = [listed, later, put_back, rebuild, event]
    assert _sort_manifests(some) == [event, rebuild, put_back, listed, later]
    assert _sort_manifests([*some, note]) == [note, rebuild, event, put_back, listed, later]
    # A batch takes one manifest of a list, and leaves it out if it does not fit.
    assert _select_manifests([event, put_back, listed, later], 100) == [event.id, put_back.id]
    assert _select_manifests([event, listed], 3) == [event.id]
    assert _select_manifests([listed, later], 100) == [listed.id]


def test_the_manifests_of_a_list_leave_room_for_new_files(lake: Any) -> None:
    for max_files, most in ((1, 1), (9, 1), (100, 10), (10_000, 1000), (50_000, 1000)):
        lake.config = CONFIG.model_copy(update={"max_files": max_files})
        lake.store.objects.bodies.clear()
        ingest(
            lake, lines_of(*(f"s3://landing/clicks/{i}.csv" for i in range(1001))), IngestRequest("somebody", "keys")
        )
        assert max(len(keys) for keys in keys_in_inbox(lake, CLICKS)) == most


@pytest.mark.parametrize("lines", [[], [b"?\n"]])
def test_a_part_without_objects_says_to_continue_where_it_began(lake: Any, lines: list[bytes]) -> None:
    said: list[str] = []
    request = IngestRequest("somebody", "keys", after_line=100, log=said.append)
    with suppress(DataError):
        ingest(lake, [b"\n"] * 100 + lines, request)
    assert said[-1].endswith("--after-line 100")


def test_what_a_batch_defers_of_a_list_comes_last_again_wherever_that_dies(lake: Any) -> None:
    """The rest of what it took does not: it may be of events."""
    request = IngestRequest("somebody", "keys")
    ingest(lake, lines_of("s3://landing/shop/orders/1.json", "s3://landing/shop/orders/2.json"), request)
    inbox = lake.store.inbox.table_inbox(ORDERS)
    (listed,) = inbox.waiting_manifests()
    event = Hint("shop/orders/3.json", Event("m#0"))
    batch: Any = SimpleNamespace(table=ORDERS, n=7, digest="a" * 64, manifests=(listed.id,))
    deferred = [Hint("shop/orders/2.json"), event]
    for others in ({"listed-deferred-"}, {"deferred-"}, set[str]()):
        _put_back(inbox, batch, deferred)
        found = {waiting.id.partition("0")[0]: waiting.id for waiting in inbox.waiting_manifests()}
        assert found.keys() == {"listed-deferred-", "deferred-", listed.id.partition("0")[0]}
        by_id = {manifest.id: manifest.hints for manifest in inbox.read(found.values())}
        assert by_id[found["listed-deferred-"]] == (Hint("shop/orders/2.json"),)
        assert by_id[found["deferred-"]] == (event,)
        inbox.delete(found[name] for name in others)
    # The batch is finished: a run that slept puts nothing back.
    inbox.delete(waiting.id for waiting in inbox.waiting_manifests())
    _put_back(inbox, batch, deferred)
    assert inbox.waiting_manifests() == []
