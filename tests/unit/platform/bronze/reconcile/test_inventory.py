"""S3 Inventory without S3: the manifest, its settings in `lake.yaml`, and hints that survive the death of a run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import yaml

from tests.support.lakes.inventory import FORMATS, Line, deliver
from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import Died
from tests.unit.conftest import PAPER
from tidegate.platform.bronze import run
from tidegate.platform.bronze.listener import InventoryComparison, LogListener, RunListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.reconcile import inventory as inventoried
from tidegate.platform.bronze.reconcile import listing
from tidegate.platform.bronze.reconcile.inventory import Difference, Differences, compare_inventory
from tidegate.platform.core.bronze.hint import Missing
from tidegate.platform.core.bronze.ledger import LastState, Status
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import LakeConfigError, load_lake
from tidegate.platform.core.inventory.manifest import Inventory, InventoryError, deliveries
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.route import NoRoute, route
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.progress import ListingProgress
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Clock

PREFIX = "all/landing/daily/"
FOLDER = f"s3://inventories/{PREFIX}"
URI = f"{FOLDER}2026-01-31T01-00Z/manifest.json"


def manifest(**changed: Any) -> bytes:
    found = deliver([Line("t/a", 1, "e")], prefix=PREFIX, source="landing", created=1_769_821_200.5, files=1)
    fields = {**json.loads(found.objects[found.manifest]), **changed}
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()


@pytest.mark.parametrize("format", FORMATS)
def test_a_manifest_of_each_format_names_its_columns_and_files(format: Literal["CSV", "ORC", "Parquet"]) -> None:
    found = deliver([], prefix=PREFIX, source="landing", created=1_769_821_200.5, format=format)
    inventory = Inventory.from_manifest(found.objects[found.manifest], URI, "landing")
    assert (inventory.uri, inventory.bucket, inventory.created) == (URI, "inventories", 1_769_821_200.5)
    assert tuple(file.key for file in inventory.files) == found.data
    csv = format == "CSV"
    assert inventory.column("key") == ("Key" if csv else "key")
    assert inventory.column("etag") == ("ETag" if csv else "e_tag")
    assert inventory.column("islatest") == ("IsLatest" if csv else "is_latest")
    assert inventory.column("isdeletemarker") == ("IsDeleteMarker" if csv else "is_delete_marker")
    assert len(inventory.columns) == 8
    fewer = deliver([], prefix=PREFIX, source="landing", created=1, format=format, versions=False, without=["ETag"])
    without = Inventory.from_manifest(fewer.objects[fewer.manifest], URI, "landing")
    assert (without.column("etag"), without.column("islatest")) == (None, None)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "is not a manifest of an S3 Inventory: is not JSON: Expecting"),
        (b"[]", "is not a manifest of an S3 Inventory"),
        (manifest(files=None), "has no 'files'"),
        (manifest(files=[{"key": "x"}]), "has no 'size'"),
        (manifest(creationTimestamp="yesterday"), "invalid literal"),
        (manifest(sourceBucket="other"), "is an inventory of the bucket other, and the table's files are in landing"),
        (manifest(fileFormat="Avro"), "its format Avro is not read; choose CSV, ORC or Parquet"),
        (manifest(fileSchema="Bucket, Size"), "its fileSchema has no column Key: Bucket, Size"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_why_in_one_line(body: bytes, says: str) -> None:
    with pytest.raises(InventoryError) as error:
        Inventory.from_manifest(body, URI, "landing")
    assert says in str(error.value)
    assert str(error.value).startswith(URI)
    assert "\n" not in str(error.value)


def test_deliveries_are_recognized_by_their_names() -> None:
    there = ["2026-01-30T01-00Z", "data", "hive", "2026-01-31T01-00Z", "2026-01-31", "x2026-01-31T01-00Z"]
    assert deliveries(there) == ["2026-01-31T01-00Z", "2026-01-30T01-00Z"]


def test_an_inventory_s_folder_is_not_a_table_s_and_its_files_are_not_sources(tmp_path: Path) -> None:
    def load(**table: Any) -> LakeConfig:
        orders: dict[str, Any] = {**PAPER["tables"][0], **table}  # type: ignore[index]
        path = tmp_path / "lake.yaml"
        path.write_text(yaml.safe_dump({**PAPER, "tables": [orders, *PAPER["tables"][1:]]}))  # type: ignore[index]
        return load_lake(path)

    config = load(inventory="s3://second/inventory/landing/daily/")
    decided = route("second", "inventory/landing/daily/data/x.csv.gz", config, set())
    assert isinstance(decided, NoRoute)
    assert decided.outcome == "own_file"
    assert "where S3 delivers an inventory" in decided.why
    for folder, says in [
        ("s3://second/plain/x/", "overlaps s3://second/plain/ of tables[2]"),
        ("s3://second/inventory", "is not a folder"),
        ("inventory/", "is not of the form s3://bucket/key"),
    ]:
        with pytest.raises(LakeConfigError) as error:
            load(inventory=folder)
        assert "tables[0].inventory" in str(error.value)
        assert says in str(error.value)
    path = tmp_path / "rows.yaml"
    rows = {"name": "rows", "row_queue": {"name": "rows"}, "inventory": FOLDER}
    path.write_text(yaml.safe_dump({**PAPER, "tables": [rows]}))
    with pytest.raises(LakeConfigError, match="the files of a row queue are below the lake root, and are few"):
        load_lake(path)


class Lake:
    """A lake with given differences between inventory and ledger."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, found: list[Difference], keys: int = 100) -> None:
        objects: Any = Objects()
        objects.bucket_exists = lambda bucket: True
        self.store = LakeStore(objects, "s3://lake/root")
        self.delta = None
        self.config = LakeConfig.model_validate(
            {
                "lake": {"root": "s3://lake/root"},
                "queues": [{"name": "q"}],
                "buckets": ["landing"],
                "tables": [{"name": "t", "prefix": "s3://landing/t/"}],
            }
        )
        self.created, self.body = time.time() - 86_400, manifest()
        self.log: list[str] = []

        def newest(objects: Any, folder: str, source: str, log: Callable[[str], None]) -> Inventory:
            assert (folder, source) == (FOLDER, "landing")
            inventory = Inventory.from_manifest(self.body, URI, source)
            return replace(inventory, created=self.created)

        def differ(*given: Any, after: str, limit: int, left: bool, waits: bool, rows_leave: bool) -> Differences:
            assert not waits
            assert not rows_leave
            here = [
                difference for difference in found if difference.key > after and (left or difference.kind != "left")
            ]
            return Differences(sorted(here, key=lambda difference: difference.key)[:limit], keys)

        monkeypatch.setattr(inventoried, "newest_inventory", newest)
        monkeypatch.setattr(inventoried, "inventory_differences", differ)

    def compare(
        self, after: str = "", after_load: str = "keep", reached: Callable[[str], None] = lambda _: None
    ) -> InventoryComparison:
        key = TableKey("landing", "t/")
        given = {"max_files": 3, "after_load": after_load, "inventory": FOLDER}
        spec = self.config.tables[0].model_copy(update=given)
        ledger: Any = SimpleNamespace(last_states=lambda version: None)
        handles: Any = self
        table = Table(handles, key, key.encode(), spec, None, self.store.batches("t"), ledger)
        listener = LogListener(self.log.append)
        listener.listing_reached = reached  # type: ignore[method-assign]
        return compare_inventory(table, Clock(1, 1), listener, after=after)

    def hints(self) -> list[tuple[str, str, int | None]]:
        table_key = TableKey("landing", "t/").encode()
        found = self.store.inbox.table_inbox(table_key).read(
            [waiting.id for waiting in self.store.inbox.waiting_manifests(table_key)]
        )
        assert all(len(entry.hints) <= 3 for entry in found)
        return sorted((hint.key, hint.cause.name, hint.size) for entry in found for hint in entry.hints)


def test_f21_hints_of_an_inventory_are_written_once_wherever_it_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[Literal["listed", "missing"]] = ["listed", "missing"]
    state = LastState(Status.COMMITTED, "before", 1)
    found = [Difference(f"t/{number:02}.csv", kinds[number % 2], number, "e", state) for number in range(23)]
    ignored = [
        Difference("t/_delta_log/0.json", "listed", 1, "e", None),
        Difference("t/x.unknown", "listed", 1, "e", None),
    ]
    lake = Lake(monkeypatch, [*found, *ignored])
    monkeypatch.setattr(inventoried, "LISTED_AT_ONCE", 5)
    reached, deaths = "", 0

    def record_place(key: str) -> None:
        nonlocal reached, deaths
        reached = key
        if key and deaths < 3:
            deaths += 1
            raise Died(key)

    while True:
        try:
            done = lake.compare(reached, reached=record_place)
            break
        except Died:
            pass
    assert (deaths, reached) == (3, "")
    assert lake.hints() == [
        (
            difference.key,
            "Listed" if difference.kind == "listed" else Missing.name,
            difference.size if difference.kind == "listed" else None,
        )
        for difference in found
    ]
    assert (done.uri, done.created, done.keys) == (URI, lake.created, 100)
    assert any("t/: 100 objects, 5 keys differ from the ledger (up to t/19.csv)" in line for line in lake.log), lake.log


def test_an_inventory_of_another_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    state = LastState(Status.COMMITTED, "e", 1)
    gone = [Difference(f"t/{number}.csv", "missing", None, None, state) for number in range(10)]
    lake = Lake(monkeypatch, gone, keys=0)
    with pytest.raises(InventoryError, match="has no object below s3://landing/t/, but the ledger knows 10"):
        lake.compare()
    assert lake.hints() == []
    few = Lake(monkeypatch, gone[:9], keys=0)
    assert few.compare().differing == 9, "a table of few files may have lost them all: S3 is asked"


def test_what_makes_an_inventory_less_complete_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(monkeypatch, [])
    lake.compare()
    assert not any("WARNING" in line for line in lake.log)
    lake.created -= 9 * 86_400
    lake.body = manifest(fileSchema="Bucket, Key")
    lake.compare()
    warnings = [line for line in lake.log if "WARNING" in line]
    assert ["10 days old" in warnings[0], "no column ETag" in warnings[1], len(warnings)] == [True, True, 2]


def test_loaded_files_that_are_still_in_s3_are_noted_for_after_load(monkeypatch: pytest.MonkeyPatch) -> None:
    state = LastState(Status.COMMITTED, "e", 1)
    partly = LastState(Status.COMMITTED, "e", 1, bad_rows=2)
    left = [Difference("t/a.csv", "left", 1, "e", state), Difference("t/b.csv", "left", 1, "e", partly)]
    lake = Lake(monkeypatch, left)
    assert lake.compare().differing == 0
    assert lake.store.after_notes(TableKey("landing", "t/").encode()).ids() == []
    assert lake.compare(after_load="delete").differing == 0
    table_key = TableKey("landing", "t/").encode()
    (note,) = lake.store.after_notes(table_key).read(lake.store.after_notes(table_key).ids())
    assert set(note.keys) == {"t/a.csv"}
    assert lake.hints() == []


@pytest.mark.parametrize("by_hand", [True, False])
@pytest.mark.parametrize(
    ("n", "folder", "reached", "listed_from"),
    [
        (0, "t..g", None, ""),
        (0, "t..g", ListingProgress("t/k.csv"), "t/k.csv"),
        (0, "t..g", ListingProgress(whole=True), None),
        (1, "t..g", None, None),
        (0, "", None, None),
    ],
)
def test_a_generation_that_a_reset_began_lists_its_prefix_whole(
    n: int,
    folder: str,
    reached: ListingProgress | None,
    listed_from: str | None,
    by_hand: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An inventory lacks the files of the last days, and the recorded end of a listing is of the generation before."""
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    store.generation_listings.write("t..earlier", ListingProgress("t/z.csv", whole=True))
    if reached:
        store.generation_listings.write("t..g", reached)
    done: list[str] = []
    table: Any = SimpleNamespace(
        table_key="t",
        birth=SimpleNamespace(generation_folder=folder),
        key=SimpleNamespace(uri="s3://l/t/"),
        spec=SimpleNamespace(inventory=FOLDER),
        lake=SimpleNamespace(store=store),
        ledger=SimpleNamespace(clock=lambda: Clock(1, n)),
        batches=SimpleNamespace(read=lambda n: None),
        inbox=SimpleNamespace(waiting_manifests=list),
    )
    monkeypatch.setattr(listing, "list_prefix", lambda *_, after: done.append(f"from {after}") or 0)
    monkeypatch.setattr(run, "compare_inventory", lambda *_, after: done.append(f"inventory from {after}"))
    for name in ("find_unfinished", "look", "retry_noted", "require_awake"):
        monkeypatch.setattr(run, name, lambda *_, **__: None)
    options = RunOptions("run", listing=by_hand, after="t/of the run's tag")
    run._next_batch(table, options, RunListener(), 0.0, first=True)
    as_asked_for = ["inventory from t/of the run's tag"] if by_hand else []
    assert done == (as_asked_for if listed_from is None else [f"from {listed_from}"])
