"""Tables that share a run do not affect each other, and Dagster shows each as a run of its own would."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.partition_status_cache import AssetPartitionStatus
from dagster._core.test_utils import create_run_for_test

from tests.unit.conftest import Paper
from tidegate.assets.bronze import asset
from tidegate.assets.bronze.previous_report import PreviousReport, TableSnapshot
from tidegate.assets.bronze.report import TableReport
from tidegate.assets.bronze.shared_run import SharedRun
from tidegate.assets.keys import SHARED_JOB, LakeNames
from tidegate.assets.runs.held_tables import FAILED_TAG, RunTables, shared_config
from tidegate.assets.runs.tags import TRIGGER_TAG
from tidegate.platform.bronze.listener import RunListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import BatchResult
from tidegate.platform.core.bronze.batch import Add, Batch
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.results import CommitResult, TableState
from tidegate.resources.lake_resource import LakeResource

PAGE = dg.AssetKey(["bronze", "orders"])
GOOD, BAD = LedgerRow("good.json", Status.COMMITTED, rows=2), LedgerRow("bad.json", Status.QUARANTINED, "no row fits")
STATE = TableState(0, None, "id", {}, TableSchema((Field("id", simple_type("long")),)), 1)


def shared(fails: Sequence[str] = (), *, held: Sequence[str] = (), lost: str | None = None, turns: int = 99) -> Any:
    """Make a shared run of the tables a to d. Returns the run, and a list of the tables that it brought up to date."""
    done: list[str] = []

    def work(table: str) -> TableReport:
        done.append(table)
        if table in fails:
            raise ValueError(f"{table} was dropped\nby somebody")
        return TableReport([], TableSnapshot(table))

    left = itertools.count(turns, -1)
    run = SharedRun(work, held.__contains__, lambda: lost, lambda: next(left) > 0)
    yielded = [table for table, _ in run.tables(["a", "b", "c", "b", "d"])]
    assert yielded == done
    return done, run


def test_one_table_s_failure_is_its_own() -> None:
    done, run = shared(fails=["a", "c"])
    assert done == ["a", "b", "c", "d"]
    assert (list(run.failed), run.left) == (["a", "c"], {})
    assert run.verdict(4) == (
        "2 of 4 tables failed; each gets a run of its own next:\na: a was dropped\nc: c was dropped"
    )
    assert shared()[1].verdict(4) is None


def test_what_a_shared_run_does_not_get_to_is_left_and_no_failure() -> None:
    done, run = shared(fails=["b"], lost="the server is gone")
    assert (done, list(run.failed), run.left) == (
        ["a", "b"], ["b"], {"c": "the server is gone", "d": "the server is gone"},
    )  # fmt: skip
    done, run = shared(held=["b"], turns=3)
    assert (done, run.failed, list(run.left)) == (["a", "c"], {}, ["b", "d"])


class Stopped:
    """A table whose run fails after its first batch was recorded."""


class World:
    """The surroundings of a shared run: for each table its batches, or the error that it raises."""

    def __init__(self, paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
        self.instance, self.job = instance, paper.definitions.resolve_job_def(SHARED_JOB)
        self.brings: dict[str, LedgerRow | Exception | Stopped] = {}
        self.given: dict[str, Any] = {}
        handles = SimpleNamespace(
            delta=SimpleNamespace(check_session_alive=lambda: None),
            table=lambda table_key: SimpleNamespace(table_key=table_key),
        )
        self.opened: list[str] = []

        def opened(resource: LakeResource, table: str = "") -> Any:
            self.opened.append(table)
            return handles

        monkeypatch.setattr(LakeResource, "open", opened)
        monkeypatch.setattr(asset, "run_table", self._run_table)
        monkeypatch.setattr(
            asset, "table_report", lambda table, done, before: TableReport(done, self._now(done), before)
        )

    def _run_table(self, opened: Any, options: RunOptions, listener: RunListener) -> list[BatchResult]:
        table = opened.table_key
        self.given[table] = options
        listener.log("batch 1")
        found = self.brings[table]
        if isinstance(found, Exception):
            raise found
        if isinstance(found, Stopped):
            first = self._batch(table, GOOD)
            listener.batch_recorded(first.batch, first.landed)
            raise OSError("S3 does not answer")
        return [self._batch(table, found)]

    @staticmethod
    def _batch(table: str, found: LedgerRow) -> BatchResult:
        adds = (Add("a.parquet", {}, 10, 0, '{"numRecords": 2}'),) if found is GOOD else ()
        batch = Batch("lake", table, "g", 1, "s3a://x", -1, (), (found,), adds, ())
        return BatchResult(batch, CommitResult(0, "committed", "", None, False))

    @staticmethod
    def _now(done: Sequence[BatchResult]) -> TableSnapshot:
        return TableSnapshot("t", "s3://x", STATE, 2) if done[0].batch.adds else TableSnapshot("t")

    def run(
        self, tags: dict[str, str] | None = None, **brings: LedgerRow | Exception | Stopped
    ) -> dg.ExecuteInProcessResult:
        self.brings = {f"landing.{name}": what for name, what in brings.items()}
        self.instance.add_dynamic_partitions(LakeNames().name("tables"), list(self.brings))
        return self.job.execute_in_process(
            shared_config(LakeNames(), list(self.brings)), self.instance, tags=tags, raise_on_error=False
        )

    def status(self, name: str) -> AssetPartitionStatus | None:
        found = self.instance.get_status_by_partition(LakeNames().bronze, [f"landing.{name}"], LakeNames().tables)
        return (found or {}).get(f"landing.{name}")


def test_each_table_of_a_shared_run_is_shown_as_its_own_run_would(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(paper, instance, monkeypatch)
    result = world.run(orders=GOOD, items=ValueError("dropped"), found=BAD, last=GOOD, tags={TRIGGER_TAG: "sensor"})
    assert not result.success
    assert {name: world.status(name) for name in ("orders", "items", "found", "last")} == {
        "orders": AssetPartitionStatus.MATERIALIZED,
        "items": AssetPartitionStatus.FAILED,
        "found": None,  # nothing got in, so it stays what it was
        "last": AssetPartitionStatus.MATERIALIZED,
    }
    checks = {
        (evaluation.asset_key, evaluation.partition): evaluation.passed
        for evaluation in result.get_asset_check_evaluations()
        if evaluation.check_name == "nothing_quarantined"
    }
    assert checks == {
        (LakeNames().bronze, "landing.orders"): True, (PAGE, None): True, (LakeNames().bronze, "landing.found"): False,
        (LakeNames().bronze, "landing.last"): True,
    }  # fmt: skip
    key = dg.AssetCheckKey(LakeNames().bronze, "nothing_quarantined")
    history = instance.event_log_storage.get_asset_check_execution_history(key, limit=9)
    assert {execution.partition for execution in history} == {
        "landing.orders", "landing.found", "landing.last",
    }  # fmt: skip
    for shown in (
        asset.previous_report(instance, LakeNames().bronze, "landing.last"),
        asset.previous_report(instance, PAGE),
    ):
        assert (shown.rows, shown.version) == (2, 0)
    assert asset.previous_report(instance, LakeNames().bronze, "landing.orders") == PreviousReport(version=0)
    (failure,) = (event for event in result.all_events if event.is_step_failure)
    assert "1 of 4 tables failed" in str(failure.step_failure_data.user_failure_data)
    assert "landing.items: dropped" in str(failure.step_failure_data.user_failure_data)
    run = instance.get_run_by_id(result.run_id)
    assert run
    assert (json.loads(run.tags[FAILED_TAG]), RunTables(instance).find_failed(run)) == (
        ["landing.items"],
        ["landing.items"],
    )
    said = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert {"landing.orders: batch 1", "landing.found: quarantined bad.json: no row fits"} <= set(said)
    assert any("landing.items failed" in line and "ValueError: dropped" in line for line in said)


def test_a_batch_of_a_table_that_fails_later_in_a_shared_run_is_shown(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(paper, instance, monkeypatch)
    assert not world.run(orders=Stopped(), last=GOOD).success
    assert world.opened == ["landing.orders"], "the server of its tables, of which the first is one"
    assert world.status("orders") is AssetPartitionStatus.FAILED
    shown = asset.previous_report(instance, PAGE)
    assert (shown.rows, shown.version) == (2, 0)
    assert asset.previous_report(instance, LakeNames().bronze, "landing.orders").version == 0


def test_a_shared_run_lists_prefixes_only_when_a_person_asks_and_leaves_tables_with_a_run_alone(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(paper, instance, monkeypatch)
    own = create_run_for_test(instance, status=dg.DagsterRunStatus.STARTED, tags={"dagster/partition": "landing.items"})
    assert RunTables(instance).find(own) == ["landing.items"]
    assert world.run(orders=GOOD, items=GOOD, tags={TRIGGER_TAG: "sensor"}).success
    assert world.run(found=GOOD).success
    assert {table: given.listing for table, given in world.given.items()} == {
        "landing.orders": False, "landing.found": True,
    }  # fmt: skip
