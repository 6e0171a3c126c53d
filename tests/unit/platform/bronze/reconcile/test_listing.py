"""The first listing of a generation is resumed wherever it ends, and a signal of the past is not a file."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import Died
from tidegate.platform.bronze.reconcile import listing
from tidegate.platform.bronze.reconcile.listing import list_generation, list_prefix
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.bronze.hint import Missing
from tidegate.platform.core.bronze.ledger import LastState, Status
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.forgetting import bronze_rows
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.progress import ListingProgress
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Clock

KEY = TableKey("landing", "t/")
FOLDER = f"{KEY.encode()}..second"
KEYS = st.builds(
    lambda name, number: f"t/{name}{number}.csv", st.sampled_from(["a", "b/c", "ü", "k=1/x"]), st.integers(0, 9)
)


class Dying(Objects):
    """S3 in a dictionary, and a process that dies before or after some of its writes, or while it lists."""

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.listed = 0, 0
        self.dies: set[int] = set()

    def bucket_exists(self, bucket: str) -> bool:
        return True

    def step(self) -> None:
        self.steps += 1
        if self.steps in self.dies:
            raise Died(str(self.steps))

    def put(self, bucket: str, key: str, body: str | bytes) -> None:
        self.step()
        super().put(bucket, key, body)
        self.step()

    def put_if_absent(self, bucket: str, key: str, body: str) -> bool:
        self.step()
        done = super().put_if_absent(bucket, key, body)
        self.step()
        return done

    def list_under(self, bucket: str, prefix: str, after: str = "") -> Any:
        for item in super().list_under(bucket, prefix, after):
            if prefix == KEY.prefix:
                self.step()
                self.listed += 1
            yield item


def _table(objects: Objects, states: dict[str, LastState] | None = None, **options: Any) -> Table:
    store = LakeStore(objects, "s3://lake/root")  # type: ignore[arg-type]
    spec = {"name": "t", "prefix": KEY.uri, "format": "csv", "max_files": 3, **options}
    config = LakeConfig.model_validate(
        {"lake": {"root": "s3://lake/root"}, "queues": [{"name": "q"}], "buckets": ["landing"], "tables": [spec]}
    )
    ledger: Any = SimpleNamespace(live_keys=lambda version: dict(states or {}))
    lake: Any = SimpleNamespace(store=store, config=config)
    birth = Birth("second", "s3a://lake/root/bronze/t", "t", registered=False, generation_folder=FOLDER)
    return Table(lake, KEY, KEY.encode(), config.tables[0], birth, store.batches(FOLDER), ledger)


def _hints(table: Table) -> list[tuple[str, str]]:
    manifests = table.inbox.read([waiting.id for waiting in table.inbox.waiting_manifests()])
    return sorted((hint.key, hint.cause.name) for manifest in manifests for hint in manifest.hints)


@given(
    st.sets(KEYS, max_size=30),
    st.integers(1, 7),
    st.sets(st.integers(1, 120), max_size=6),
    st.randoms(use_true_random=False),
)
def test_the_first_listing_of_a_generation_is_resumed_wherever_it_ends_and_loses_no_file(
    keys: set[str], at_once: int, dies: set[int], chance: random.Random
) -> None:
    """Files come and go between two attempts. Events announce those that come."""
    objects = Dying()
    objects.bodies = dict.fromkeys(keys, "row")
    table = _table(objects)
    table.lake.store.generation_listings.write(f"{KEY.encode()}..first", ListingProgress("t/z", whole=True))
    objects.steps, objects.dies = 0, dies
    always, attempts = set(keys), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "LISTED_AT_ONCE", at_once)
        while True:
            attempts += 1
            try:
                listed = list_generation(table, Clock(1, 0))
                break
            except Died:
                if always and chance.random() < 0.3:
                    gone = chance.choice(sorted(always))
                    always.discard(gone)
                    del objects.bodies[gone]
                objects.bodies[f"t/new{attempts}.csv"] = "row"
        objects.dies = set()
        hints = _hints(table)
        assert always <= {key for key, _ in hints}, "no file is lost"
        if attempts == 1:
            assert (listed, [key for key, _ in hints]) == (len(keys), sorted(keys)), "and none is there twice"
        # An attempt repeats the part in which the one before it ended, and no more.
        assert objects.listed <= len(keys) + attempts + at_once * attempts
        assert table.lake.store.generation_listings.read(FOLDER) == ListingProgress(whole=True)
        assert list_generation(table, Clock(1, 0)) is None, "a listing that came to its end is not repeated"
        assert _hints(table) == hints


def test_an_attempt_after_each_part_makes_progress() -> None:
    """As of a run that is ended after an hour."""
    objects = Dying()
    objects.bodies = {f"t/{number:03}.csv": "row" for number in range(100)}
    table = _table(objects)
    logged: list[str] = []
    attempts = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "LISTED_AT_ONCE", 10)
        while True:
            attempts += 1
            # Ten objects, a manifest of each three of them and the record. A write is two steps.
            objects.dies = {objects.steps + 10 + 4 * 2 + 2 + 5}
            try:
                list_generation(table, Clock(1, 0), logged.append)
                break
            except Died:
                assert attempts < 20
    assert attempts == 10
    assert [key for key, _ in _hints(table)] == sorted(key for key in objects.bodies if key.startswith("t/"))
    resumed = [line for line in logged if "resuming after" in line]
    assert resumed[0] == ("listing s3://landing/t/: resuming after t/009.csv, the last key that an earlier run listed")
    assert len(resumed) == 9


def test_a_batch_that_takes_no_hints_comes_after_the_first_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to forget a person decides such a batch, and the first batch of a generation ends its first listing."""
    objects = Dying()
    objects.bodies = {"t/a.csv": "row"}
    table = _table(objects)
    table.ledger.clock = lambda: Clock(-1, 0)  # type: ignore[method-assign]
    monkeypatch.setattr(Table, "reopen", lambda self: self)
    monkeypatch.setattr(bronze_rows, "continue_decided", lambda *_: None)

    def prepared(*_: Any) -> Any:
        raise Died("prepare")

    monkeypatch.setattr(bronze_rows, "_prepare_erasure", prepared)
    with pytest.raises(Died):
        bronze_rows.erase_from_bronze(table, SimpleNamespace(), "run")  # type: ignore[arg-type]
    assert _hints(table) == [("t/a.csv", "Listed")]


@pytest.mark.parametrize("status", [Status.WAITING, Status.COMPLETE])
@pytest.mark.parametrize("there", [True, False])
def test_without_completion_a_signal_is_not_a_file_and_files_that_wait_are(status: Status, there: bool) -> None:
    states = {"t/x/_SUCCESS": LastState(status, "etag", 1), "t/y/a.csv": LastState(Status.WAITING, "etag", 1)}
    for completion, missing, listed in [("_SUCCESS", ["t/x/_SUCCESS"], []), (None, [], ["t/y/a.csv"])]:
        objects = Dying()
        objects.bodies = {"t/y/a.csv": "row", **({"t/x/_SUCCESS": ""} if there else {})}
        table = _table(objects, states, completion=completion)
        list_prefix(table, Clock(1, 1))
        wanted = [(key, Missing.name) for key in missing if not there] + [(key, "Listed") for key in listed]
        assert _hints(table) == wanted
