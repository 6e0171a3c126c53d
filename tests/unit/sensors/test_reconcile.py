"""Lost events: a listing finds exactly the changes without an event, wherever it dies, and which listings are due."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.test_utils import create_run_for_test
from hypothesis import given
from hypothesis import strategies as st

from tests.support.lakes.objects import Objects
from tests.support.lakes.seams import Died
from tests.support.ticks import evaluate
from tests.unit.conftest import PAPER
from tidegate.assets.bronze.asset import note_listing
from tidegate.assets.keys import BRONZE_JOB, LakeNames
from tidegate.assets.runs.tags import LISTED_TAG, RECONCILE, TRIGGER_TAG
from tidegate.platform.bronze.listener import RunListener
from tidegate.platform.bronze.reconcile import listing
from tidegate.platform.bronze.reconcile.listing import list_prefix
from tidegate.platform.core.bronze.hint import Missing
from tidegate.platform.core.bronze.ledger import LastState, Status
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.definitions import build_definitions
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.ledger import Clock
from tidegate.resources.aws_resource import AwsResource
from tidegate.resources.lake_resource import LakeResource
from tidegate.sensors.reconcile import (
    MAX_LISTING_RUNS,
    ListingRequests,
    build_reconcile_sensor,
    due_tables,
    intervals_of,
    reconcile_requests,
)
from tidegate.sensors.run_history import Failures, TableRuns

ORDERS, ITEMS, PLAIN = "landing.orders", "landing.items", "second.plain"
DAY = 86_400


class Prefix(Objects):
    """A table's prefix and the lake's bucket in one dictionary. The etag of an object is its body."""

    def bucket_exists(self, bucket: str) -> bool:
        return True

    def list_under(self, bucket: str, prefix: str, after: str = "") -> Any:
        for item in super().list_under(bucket, prefix, after):
            yield SimpleNamespace(key=item.key, etag=self.bodies[item.key], size=item.size, modified=0.0)


def listed(
    present: dict[str, str], states: dict[str, LastState], *, at_once: int, dies: set[int], max_files: int = 3
) -> list[tuple[str, str]]:
    """Return key and event name of the hints of a listing that dies after some of its parts and is repeated."""
    objects = Prefix()
    objects.bodies = dict(present)
    store = LakeStore(objects, "s3://lake/root")  # type: ignore[arg-type]
    config = LakeConfig.model_validate(
        {
            "lake": {"root": "s3://lake/root"},
            "queues": [{"name": "q"}],
            "buckets": ["landing"],
            "tables": [{"name": "t", "prefix": "s3://landing/t/"}],
        }
    )
    key = TableKey("landing", "t/")
    ledger: Any = SimpleNamespace(live_keys=lambda version: dict(states))
    lake: Any = SimpleNamespace(store=store, config=config)
    spec = config.tables[0].model_copy(update={"max_files": max_files})
    table = Table(lake, key, key.encode(), spec, None, store.batches("t"), ledger)
    reached, parts = "", 0

    class Recorder(RunListener):
        def listing_reached(self, key: str) -> None:
            nonlocal reached, parts
            reached, parts = key, parts + 1
            if parts in dies:
                raise Died(key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "LISTED_AT_ONCE", at_once)
        for _ in range(len(dies) + 1):
            try:
                list_prefix(table, Clock(1, 1), Recorder(), after=reached)
                break
            except Died:
                if not reached:
                    break  # after the last part
    manifests = store.inbox.table_inbox(table.table_key).read(
        [manifest.id for manifest in store.inbox.waiting_manifests(table.table_key)]
    )
    assert all(len(manifest.hints) <= max_files for manifest in manifests)
    return sorted((hint.key, hint.cause.name) for manifest in manifests for hint in manifest.hints)


NAMES = st.sampled_from(["a", "b", "b/c", "b.d", "ü", "\U0001f30a", "z k=1/x"])
KEYS = st.builds(lambda name, number: f"t/{name}{number}.csv", NAMES, st.integers(0, 9))


@given(
    st.dictionaries(KEYS, st.sampled_from(["e1", "e2"]), max_size=30),
    st.randoms(use_true_random=False),
    st.integers(1, 7),
    st.sets(st.integers(1, 12)),
)
def test_f21_a_listing_finds_exactly_the_changes_without_an_event_wherever_it_dies(
    present: dict[str, str], chance: random.Random, at_once: int, dies: set[int]
) -> None:
    """For some objects, the events of arrival, overwrite and removal are missing."""
    lost: list[tuple[str, str]] = []
    states: dict[str, LastState] = {}
    for key, etag in present.items():
        match chance.choice(["told", "told", "arrived", "overwritten"]):
            case "told":
                states[key] = LastState(Status.COMMITTED, etag, 1)
                continue
            case "overwritten":
                states[key] = LastState(Status.COMMITTED, "before", 1)
        lost.append((key, "Listed"))
    for number in range(chance.randrange(6)):
        key, status = f"t/gone{number}.csv", chance.choice([Status.COMMITTED, Status.REMOVED, Status.MOVED])
        states[key] = LastState(status, "e1", 1)
        if status is Status.COMMITTED:
            lost.append((key, Missing.name))
    assert listed(present, states, at_once=at_once, dies=dies) == sorted(lost)


@pytest.fixture
def config(tmp_path: Path) -> LakeConfig:
    tables: list[dict[str, Any]] = [dict(table) for table in PAPER["tables"]]  # type: ignore[arg-type, union-attr, attr-defined]
    tables[0]["reconcile_interval"] = 600
    path = tmp_path / "lake.yaml"
    path.write_text(yaml.safe_dump({**PAPER, "reconcile_interval": DAY, "tables": tables}))
    return load_lake(path)


@pytest.fixture
def instance() -> Any:
    with dg.instance_for_test() as found:
        found.add_dynamic_partitions(LakeNames().name("tables"), ["landing.found"])
        yield found


def make_run(instance: dg.DagsterInstance, table: str, status: dg.DagsterRunStatus, **tags: str) -> None:
    create_run_for_test(
        instance,
        BRONZE_JOB,
        status=status,
        tags={"dagster/partition": table, TRIGGER_TAG: RECONCILE, **{LISTED_TAG: tags.get("reached", "")}},
    )


def test_each_table_has_its_own_interval_or_the_lake_s(config: LakeConfig, tmp_path: Path) -> None:
    assert intervals_of(config, ["landing.found"]) == {ORDERS: 600, ITEMS: DAY, PLAIN: DAY, "landing.found": DAY}
    assert len(build_reconcile_sensor(config)) == 1
    (tmp_path / "none.yaml").write_text(yaml.safe_dump(PAPER))
    none = load_lake(tmp_path / "none.yaml")
    assert intervals_of(none, ["landing.found"]) == {}
    assert build_reconcile_sensor(none) == [], "a sensor without anything to do costs a tick each time"


def test_who_waited_longest_is_listed_first_and_few_at_a_time() -> None:
    intervals = {f"t{i:04}": 1000 for i in range(500)}
    asked: dict[str, int] = {}
    turns: list[str] = []
    for tick in range(500):
        found = due_tables(intervals, asked, 5000 + tick * 10, runs=TableRuns(), broken={}, max_due=MAX_LISTING_RUNS)
        asked = found.asked
        assert len(found.tables) <= MAX_LISTING_RUNS
        turns += found.tables
    assert set(turns) == set(intervals), "each has its turn, however many there are"
    counts = [turns.count(table) for table in intervals]
    assert max(counts) - min(counts) <= 1, "and none has a second one before all had one"


def test_new_tables_are_not_listed_all_at_once() -> None:
    intervals = {f"t{i:04}": DAY for i in range(1000)}
    found = due_tables(intervals, {}, 1_000_000.0, runs=TableRuns(), broken={}, max_due=1000)
    assert found.tables == []
    in_an_hour = due_tables(intervals, found.asked, 1_003_600.0, runs=TableRuns(), broken={}, max_due=1000)
    assert 10 < len(in_an_hour.tables) < 100


def test_a_table_at_work_or_at_rest_waits_and_a_listing_that_failed_is_asked_for_again() -> None:
    asked = {"a": 1000}
    for runs, broken, now, wanted in [
        (TableRuns(), {}, 1599, []),
        (TableRuns(), {}, 1600, ["a"]),
        (TableRuns(active=frozenset("a")), {}, 1600, []),
        (TableRuns(failures={"a": Failures(1, 1550)}), {}, 1600, []),
        (TableRuns(failures={"a": Failures(1, 1100)}), {"a": 1100.0}, 1400, []),
        (TableRuns(failures={"a": Failures(1, 900)}), {"a": 1100.0}, 1550, ["a"]),
        (TableRuns(), {"a": 900.0}, 1500, []),
    ]:
        found = due_tables({"a": 600}, asked, now, runs=runs, broken=broken, max_due=9)
        assert found.tables == wanted
        assert found.asked == {"a": now if wanted else 1000}, "who waits keeps its turn"


def test_a_tick_asks_for_runs_that_list_and_continue_where_one_died(config: LakeConfig, instance: Any) -> None:
    now = time.time()
    before = dict.fromkeys((ORDERS, ITEMS, PLAIN, "landing.found"), int(now) - 2 * DAY)
    found, asked = reconcile_requests(instance, config, before, now)
    assert [request.partition_key for request in asked] == [ITEMS, "landing.found"] or len(asked) == MAX_LISTING_RUNS
    assert all(request.tags[TRIGGER_TAG] == RECONCILE for request in asked), (
        "a run that no sensor of events asked for lists"
    )
    first = asked[0].partition_key or ""

    make_run(instance, first, dg.DagsterRunStatus.STARTED)
    _, more = reconcile_requests(instance, config, found.asked, now)
    assert first not in [request.partition_key for request in more]
    assert len(more) == MAX_LISTING_RUNS - 1, "one is at work"

    make_run(instance, PLAIN, dg.DagsterRunStatus.FAILURE, reached="plain/k.csv")
    rested = now + 2 * 3600 - 60
    _, again = reconcile_requests(
        instance, config, {**dict.fromkeys(found.asked, int(rested)), PLAIN: int(now) - 60}, rested
    )
    (resumed,) = [request for request in again if request.partition_key == PLAIN]
    assert resumed.tags[LISTED_TAG] == "plain/k.csv"


def test_when_tables_were_asked_for_is_in_an_object_and_the_cursor_stays_small() -> None:
    """Some ticks write the object, but Dagster does not get their result."""
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    intervals = {f"landing.table_{i:05}": 3600 for i in range(150)}
    cursor: str | None = None
    written, largest, listed = 0, 0, Counter[str]()
    for tick in range(960):  # eight hours
        before, now = ListingRequests.from_stored(store.listing_times.read(), cursor), 1e9 + 30 * tick
        found = due_tables(intervals, before.asked, now, runs=TableRuns(), broken={}, max_due=MAX_LISTING_RUNS)
        stored, after = before.update_after(found)
        if stored is not None:
            store.listing_times.write(stored)
            written += 1
        if tick % 7:  # else Dagster never got its requests, and has the cursor of the tick before
            cursor = after
            listed.update(found.tables)
            largest = max(largest, len(after))
    assert listed.keys() == intervals.keys()
    assert min(listed.values()) >= 6
    assert max(listed.values()) <= 8, "none more often than its interval"
    assert largest < 5_000, "however many tables there are"
    assert written < 960 / 20


def test_what_an_older_release_remembers_in_its_cursor_is_read(config: LakeConfig) -> None:
    old = json.dumps({ORDERS: 10**9, ITEMS: 10**9 + 1000})
    before = ListingRequests.from_stored({}, old)
    assert before.asked == json.loads(old)
    found = due_tables(
        {ORDERS: 600, ITEMS: DAY, PLAIN: DAY}, before.asked, 10**9 + 2000, runs=TableRuns(), broken={}, max_due=9
    )
    stored, cursor = before.update_after(found)
    assert stored == {**json.loads(old), PLAIN: found.asked[PLAIN]}
    assert json.loads(cursor) == {"asked": {ORDERS: 10**9 + 2000}}
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    assert store.listing_times.read() == {}
    store.listing_times.write(stored)
    assert ListingRequests.from_stored(store.listing_times.read(), cursor).asked == found.asked
    for odd in ("{", "[]", '{"asked": 3}', '{"asked": {"a": "b"}}'):
        store.objects.put("lake", "root/reconcile.json", odd)
        assert store.listing_times.read() == {}


def test_a_tick_of_the_sensor_takes_an_older_cursor_over_into_the_object(
    config: LakeConfig, instance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LakeStore(Objects(), "s3://lake/root")  # type: ignore[arg-type]
    monkeypatch.setattr(LakeResource, "open", lambda _: SimpleNamespace(store=store))
    lake = LakeResource(lake_yaml="", spark_remote="sc://127.0.0.1:1", aws=AwsResource())
    definitions = build_definitions(config, lake)
    now = int(time.time())
    cursor: str | None = json.dumps({**dict.fromkeys((ITEMS, PLAIN), now), ORDERS: now - 601})
    asked = []
    for _ in range(2):
        done = evaluate("reconcile", definitions, instance, lake, cursor)
        asked.append([request.partition_key for request in done.run_requests or []])
        cursor = done.cursor
    assert asked == [[ORDERS], []]
    assert set(json.loads(cursor or "")["asked"]) == {ORDERS}
    assert set(store.listing_times.read()) == {ORDERS, ITEMS, PLAIN, "landing.found"}


def test_how_far_a_listing_came_is_in_the_tags_of_its_run(instance: Any) -> None:
    run = create_run_for_test(instance, BRONZE_JOB)

    def tag() -> str | None:
        found = instance.get_run_by_id(run.run_id).tags.get(LISTED_TAG)
        return None if found is None else str(found)

    note_listing(instance, run.run_id, "")
    assert tag() is None, "most listings are short"
    note_listing(instance, run.run_id, "orders/ü k=1.csv")
    assert tag() == "orders/ü k=1.csv"
    note_listing(instance, run.run_id, "")
    assert tag() == "", "a repetition of a listing that came to its end begins anew"
