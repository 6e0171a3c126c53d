"""The report of a bronze run: in its log, on its partition, and on its table's own page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.metadata.metadata_set import TableMetadataSet
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.partition_status_cache import AssetPartitionStatus

from tests.unit.conftest import Paper
from tidegate.assets.bronze import asset
from tidegate.assets.bronze.asset import previous_report
from tidegate.assets.bronze.previous_report import PendingCleanup, PreviousReport, TableSnapshot, row_count
from tidegate.assets.bronze.report import MAX_LISTED_OBJECTS, PARTITION_ROWS, SAID_BEFORE, TableReport, check_specs
from tidegate.assets.keys import LakeNames
from tidegate.assets.presentation.columns import column_changes, column_schema
from tidegate.platform.bronze.listener import RunListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import BatchResult
from tidegate.platform.core.bronze.batch import Add, Batch, Remove
from tidegate.platform.core.bronze.ledger import Cause, LedgerRow, Status
from tidegate.platform.core.completion.waiting_datasets import WaitingDatasets
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.lake import Table
from tidegate.platform.lake.ledger import Clock
from tidegate.platform.lake.spark.results import CommitResult, TableState
from tidegate.resources.lake_resource import LakeResource

ORDERS, PAGE = "landing.orders", dg.AssetKey(["bronze", "orders"])
GOOD = LedgerRow("orders/good.json", Status.COMMITTED, rows=2)
BAD = LedgerRow("orders/bad.json", Status.QUARANTINED, "none of its 3 rows fits the table")
PARTLY = LedgerRow(
    "orders/partly.json",
    Status.COMMITTED,
    "2 of its 3 rows do not fit",
    rows=1,
    bad_rows=2,
    bad_rows_folder="s3a://l/x",
)
DUPLICATE = LedgerRow("orders/good.json", Status.DUPLICATE)
GONE = LedgerRow("orders/gone.json", Status.REMOVED)
ADD = Add("a.parquet", {}, 10, 0, '{"numRecords": 2}')


def done(
    *rows: LedgerRow,
    n: int = 2,
    adds: Sequence[Add] = (),
    removes: Sequence[Remove] = (),
    outcome: str = "committed",
    version: int | None = None,
) -> BatchResult:
    batch = Batch("lake", ORDERS, "g", n, "s3a://x", n - 2, (), rows, tuple(adds), tuple(removes))
    return BatchResult(batch, CommitResult(n - 1 if version is None else version, outcome, "", None, False))


def state(version: int, *columns: tuple[str, str]) -> TableState:
    schema = TableSchema(tuple(Field(name, simple_type(kind)) for name, kind in columns))
    return TableState(version, None, "id", {}, schema, 1)


ID = ("id", "long")
NOW = TableSnapshot("orders", "s3://x", state(1, ID), 2)
EMPTY = TableSnapshot("orders")


@pytest.mark.parametrize(
    ("rows", "only_bad"),
    [
        ([BAD], True),
        ([BAD, DUPLICATE], True),
        ([BAD, GOOD], False),
        ([BAD, GONE], False),
        ([DUPLICATE], False),
        ([PARTLY], False),
        ([], False),
    ],
)
def test_a_run_that_only_quarantined_materializes_nothing(rows: list[LedgerRow], only_bad: bool) -> None:
    report = TableReport([done(*rows)], NOW)
    assert (report.only_bad, report.materializes) == (only_bad, not only_bad)


def test_an_overwritten_key_whose_entry_was_removed_changed_the_table() -> None:
    assert TableReport([done(BAD, removes=[Remove("a.parquet")])], NOW).materializes


def test_an_idle_run_is_good_and_its_checks_speak_of_the_last_batch() -> None:
    assert TableReport([], EMPTY).materializes
    assert all(result.passed for result in TableReport([], EMPTY).checks(LakeNames().bronze))
    idle = TableReport([], NOW, last=done(BAD).batch)
    assert idle.materializes
    assert "quarantine" not in idle.metadata("dagster/row_count")
    assert failed(idle) == {"nothing_quarantined": dg.AssetCheckSeverity.ERROR}

    def said_before(report: TableReport) -> list[bool]:
        return [SAID_BEFORE in result.metadata for result in report.checks(LakeNames().bronze) if not result.passed]

    moved = LedgerRow("orders/m.json", Status.MOVED, None)
    assert said_before(idle) == said_before(TableReport([done(moved, n=3)], NOW, last=done(BAD).batch)) == [True]
    assert said_before(TableReport([done(BAD)], NOW, last=done(GOOD).batch)) == [False], "it found that itself"
    refused, bad = BAD, replace(BAD, key="orders/worse.json", etag="e1")
    (check,) = [
        result for result in TableReport([done(refused, bad)], NOW).checks(LakeNames().bronze) if not result.passed
    ]
    assert check.metadata["objects_without_state"].value == 1, "each listing finds it again"
    assert not TableReport([], EMPTY, last=done(BAD).batch).materializes, "nothing has ever got in"


def test_an_overwritten_key_fails_its_check_whatever_its_reason_says() -> None:
    overwritten = replace(BAD, cause=Cause.OVERWRITTEN)
    assert "write_once_keys" in failed(TableReport([done(overwritten, GOOD)], NOW))
    assert "write_once_keys" not in failed(TableReport([done(replace(BAD, reason="overwritten: so"), GOOD)], NOW))


def test_dagster_reads_the_name_columns_and_rows_of_a_table() -> None:
    for key in ("dagster/row_count", "dagster/partition_row_count"):
        read = TableMetadataSet.extract(TableReport([], NOW).metadata(key))
        assert read.table_name == "bronze.orders"
        assert [column.name for column in read.column_schema.columns] == ["id"]
        assert {f"dagster/{name}": getattr(read, name) for name in ("row_count", "partition_row_count")}[key] == 2


def test_a_partition_has_the_queries_that_a_page_has_in_its_definition() -> None:
    report = TableReport([], NOW)
    copied = report.metadata(PARTITION_ROWS)["sql"].value
    assert "sql" not in report.metadata("dagster/row_count")
    assert "SELECT * FROM bronze.orders LIMIT 100" in copied
    assert "DESCRIBE HISTORY bronze.orders" in copied


def test_what_a_void_batch_says_is_not_shown() -> None:
    report = TableReport([done(BAD, outcome="void")], NOW)
    assert report.materializes
    assert (report.warnings(), failed(report)) == ([], {})


def test_bad_objects_are_listed_up_to_a_limit() -> None:
    many = [
        LedgerRow(f"orders/{number}.json", Status.QUARANTINED, "r" * 1000) for number in range(MAX_LISTED_OBJECTS + 4)
    ]
    report = TableReport([done(GOOD, PARTLY, *many)], NOW)
    lines = report.warnings()
    assert len(lines) == MAX_LISTED_OBJECTS + 1
    assert lines[0] == "quarantined 2 rows of orders/partly.json: 2 of its 3 rows do not fit; see s3://l/x"
    assert lines[1].startswith("quarantined orders/0.json: rrr")
    assert lines[-1] == "and 5 more, see ledger.orders"
    records = report.metadata("dagster/row_count")["quarantine"].records
    assert [record.data["key"] for record in records][:2] == ["orders/partly.json", "orders/0.json"]
    assert len(records) == MAX_LISTED_OBJECTS
    assert max(len(str(record.data["reason"])) for record in records) == 501
    (check,) = (result for result in report.checks(LakeNames().bronze) if result.check_name == "nothing_quarantined")
    assert {name: check.metadata[name].value for name in ("objects", "rows")} == {
        "objects": MAX_LISTED_OBJECTS + 4,
        "rows": 2,
    }
    assert check.severity == dg.AssetCheckSeverity.WARN
    assert failed(TableReport([done(BAD)], NOW)) == {"nothing_quarantined": dg.AssetCheckSeverity.ERROR}


def test_a_changed_schema_is_shown_and_warned_of() -> None:
    first = TableReport([done(GOOD, n=1)], NOW)
    assert failed(first) == {}
    before = PreviousReport.from_metadata(first.metadata("dagster/row_count"))
    wider = TableSnapshot("orders", "s3://x", state(2, ID, ("name", "string")), 4)
    assert failed(TableReport([done(GOOD)], NOW, before)) == {}
    changed = TableReport([done(GOOD)], wider, before)
    assert failed(changed) == {"schema_unchanged": dg.AssetCheckSeverity.WARN}
    assert changed.metadata("dagster/row_count")["schema_changes"].value == "- name string is new"


def test_what_after_load_removed_does_not_hide_what_the_load_could_not_take_in(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = LedgerRow("orders/good.json", Status.MOVED)
    assert failed(TableReport([done(moved, n=3)], NOW, last=done(GOOD, BAD).batch)) == {
        "nothing_quarantined": dg.AssetCheckSeverity.WARN
    }
    world = World(paper, instance, monkeypatch)
    world.state = state(1, ID)
    world.batches = [done(GOOD, BAD, n=1, adds=[ADD]).batch, done(moved, DUPLICATE, n=2).batch]
    for results in ([BatchResult(world.batches[1], CommitResult(1, "committed", "", None, False))], []):
        assert evaluated(world.run(*results))["bronze", "nothing_quarantined"] is False
    world.run(done(GOOD, n=3, adds=[ADD]))
    assert evaluated(world.run())["bronze", "nothing_quarantined"] is True


def test_files_that_wait_for_after_load_fail_the_check_of_their_page() -> None:
    waits = PendingCleanup(2, {"orders/good.json": "AccessDenied"})
    report = TableReport([done(GOOD)], TableSnapshot("orders", "s3://x", state(1, ID), 2, waits))
    (check,) = (result for result in report.checks(PAGE) if result.check_name == "after_load")
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    (record,) = check.metadata["waiting"].records  # type: ignore[union-attr, attr-defined]
    assert record.data == {"key": "orders/good.json", "reason": "AccessDenied"}
    assert report.metadata("dagster/row_count")["waits_for_after_load"] == 2
    assert "after_load" not in {result.check_name for result in report.checks(LakeNames().bronze)}
    assert "after_load" not in {result.check_name for result in TableReport([done(GOOD)], NOW).checks(PAGE)}
    assert {spec.name for spec in check_specs(PAGE, after_load=True)} == {
        result.check_name for result in report.checks(PAGE)
    }


@pytest.mark.parametrize(
    ("datasets", "passed"),
    [
        (WaitingDatasets(), True),
        (WaitingDatasets(3, since=7.0), True),
        (WaitingDatasets(3, 1, since=7.0), False),
        (WaitingDatasets(0, 0, {"t/_SUCCESS": "no file of the table is in its folder"}, 7.0), False),
    ],
    ids=["nothing waits", "files wait", "a file is late", "a signal waits"],
)
def test_what_waits_for_signals_is_on_the_page_of_its_table(datasets: WaitingDatasets, passed: bool) -> None:
    report = TableReport([done(GOOD)], TableSnapshot("orders", "s3://x", state(1, ID), 2, datasets=datasets))
    (check,) = (result for result in report.checks(PAGE) if result.check_name == "datasets_complete")
    assert (check.passed, check.severity) == (passed, dg.AssetCheckSeverity.WARN)
    assert check.metadata["waiting_files"].value == datasets.files
    found = report.metadata("dagster/row_count")
    assert found["waiting_files"] == datasets.files
    assert ("waiting_since" in found) is (datasets.since is not None)
    records = found["waiting_signals"].records if datasets.signals else []
    assert [record.data for record in records] == [
        {"signal": key, "reason": reason} for key, reason in datasets.signals.items()
    ]
    assert "datasets_complete" not in {result.check_name for result in report.checks(LakeNames().bronze)}
    assert "datasets_complete" not in {result.check_name for result in TableReport([done(GOOD)], NOW).checks(PAGE)}
    assert {spec.name for spec in check_specs(PAGE, completion=True)} == {
        result.check_name for result in report.checks(PAGE)
    }


def test_column_changes() -> None:
    before = column_schema(state(0, ID, ("at", "date"), ("old", "string")).schema)
    now = column_schema(state(0, ("at", "timestamp"), ID, ("new", "double")).schema)
    assert column_changes(before, now) == ["new double is new", "old string is gone", "at was date and is timestamp"]
    assert column_changes(None, now) == column_changes(before, None) == column_changes(now, now) == []


def test_rows_are_counted_by_the_table_only_where_the_batches_have_no_count() -> None:
    def counted(before: PreviousReport, version: int, *batches: BatchResult) -> int:
        return row_count(before, batches, version, lambda: -1)

    batch_result, seen = done(GOOD, n=9, adds=[ADD, ADD]), PreviousReport(rows=10, version=7)
    assert counted(seen, 8, batch_result) == 14
    assert counted(seen, 7) == 10
    assert counted(seen, 9, batch_result, done(GOOD, n=10, adds=[ADD], outcome="void")) == 14
    assert counted(PreviousReport(), 1, done(GOOD, n=1, adds=[ADD]), done(GOOD, n=2, adds=[ADD])) == 4
    assert counted(PreviousReport(), 8, batch_result) == -1  # Dagster has forgotten
    assert counted(seen, 9, batch_result) == -1  # somebody else has committed too
    assert counted(seen, 8, done(GOOD, n=9, removes=[Remove("a.parquet")])) == -1
    nothing = done(DUPLICATE, n=10, version=-1)
    assert counted(seen, 7, nothing) == 10
    assert counted(seen, 8, nothing) == -1  # the commit is somebody else's
    assert counted(seen, 8, batch_result, nothing) == 14
    found = done(GOOD, n=9, adds=[ADD], version=7)  # an earlier run committed it and did not record it
    assert counted(seen, 7, found) == 10
    assert counted(seen, 8, found) == -1


def test_the_report_of_a_batch_that_commits_nothing_has_the_version_of_its_table() -> None:
    for batches in ([], [done(GOOD)], [done(DUPLICATE, version=-1)]):
        assert TableReport(batches, NOW).metadata("dagster/row_count")["delta_version"] == 1


class World:
    """The surroundings of a bronze run. The test chooses the batches."""

    def __init__(self, paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[BatchResult] = []
        self.last: Batch | None = None
        self.state = state(-1)
        birth: Any = SimpleNamespace(name="orders", location="s3a://landing/orders", output=None, generation="g")
        ledger: Any = SimpleNamespace(clock=lambda: Clock(0, self.last.n if self.last else 0))
        self.batches: list[Batch] = []
        batches: Any = SimpleNamespace(read=self._read, void_numbers=lambda _: set())
        spec: Any = SimpleNamespace(
            after_load="keep",
            completion=None,
            has_inventories=False,
            output=None,
            descriptions={},
            policy="evolve",
            silver=None,
        )
        count = SimpleNamespace(load=lambda _: SimpleNamespace(count=lambda: 2))
        session = SimpleNamespace(read=SimpleNamespace(format=lambda _: count))
        self.seen: list[int] = []
        delta = SimpleNamespace(table_state=self._table_state, session=session)
        self.opened = 0
        handles: Any = SimpleNamespace(table=lambda _: self._open(table), delta=delta, store=None)
        table = Table(handles, TableKey.decode(ORDERS), ORDERS, spec, birth, batches, ledger)
        monkeypatch.setattr(LakeResource, "open", lambda _, table: {ORDERS: handles}[table])
        self.error: BaseException | None = None
        monkeypatch.setattr(asset, "run_table", self._run_table)
        self._job = paper.definitions.resolve_job_def("bronze_job")
        self._checks = paper.definitions.resolve_implicit_global_asset_job_def()
        self._instance = instance
        instance.add_dynamic_partitions(LakeNames().name("tables"), [ORDERS])

    def _run_table(self, table: Table, options: RunOptions, listener: RunListener) -> list[BatchResult]:
        for result in self.done:
            listener.batch_recorded(result.batch, result.landed)
        if self.error:
            raise self.error
        return self.done

    def _open(self, table: Table) -> Table:
        self.opened += 1
        return table

    def _table_state(self, location: str, *, seen: int) -> TableState:
        self.seen.append(seen)
        return self.state

    def _read(self, n: int) -> Batch | None:
        return next((batch for batch in self.batches if batch.n == n), self.last)

    def run(self, *batches: BatchResult) -> dg.ExecuteInProcessResult:
        self.done = list(batches)
        self.batches += [result.batch for result in batches]
        self.last = batches[-1].batch if batches else self.last
        return self._job.execute_in_process(partition_key=ORDERS, instance=self._instance, raise_on_error=False)

    def status(self) -> AssetPartitionStatus | None:
        found = self._instance.get_status_by_partition(LakeNames().bronze, [ORDERS], LakeNames().tables)
        return (found or {}).get(ORDERS)

    def execute_checks(self) -> dg.ExecuteInProcessResult:
        """Run the checks as a person does on the table's page."""
        keys = [dg.AssetCheckKey(PAGE, name) for name in ("nothing_quarantined", "schema_unchanged")]
        return self._checks.get_subset(asset_check_selection=set(keys)).execute_in_process(instance=self._instance)

    def materialized(self, key: dg.AssetKey) -> int:
        found = self._instance.fetch_materializations(key, limit=100).records
        return len(found)


def evaluated(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str], bool]:
    return {
        (evaluation.asset_key.to_user_string(), evaluation.check_name): evaluation.passed
        for evaluation in result.get_asset_check_evaluations()
    }


def test_a_run_that_only_quarantined_leaves_the_partition_and_the_page_as_they_were(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(paper, instance, monkeypatch)
    result = world.run(done(BAD, n=1))
    assert result.success, "nothing is to be tried again: what is bad stays bad"
    messages = [entry.user_message for entry in instance.all_logs(result.run_id) if entry.level == 30]
    assert messages == ["quarantined orders/bad.json: none of its 3 rows fits the table"]
    assert instance.get_materialized_partitions(LakeNames().bronze) == set()
    assert evaluated(result) == {
        ("bronze", "nothing_quarantined"): False,
        ("bronze/orders", "nothing_quarantined"): False,
        ("bronze/orders", "schema_unchanged"): True,
        ("bronze/orders", "write_once_keys"): True,
    }
    assert not evaluated(world.run())["bronze", "nothing_quarantined"], "an idle run makes nothing better"
    assert instance.get_materialized_partitions(LakeNames().bronze) == set()
    assert world.materialized(PAGE) == 0

    world.state = state(1, ID)
    world.run(done(BAD, n=2), done(GOOD, n=3, adds=[ADD]))
    assert instance.get_materialized_partitions(LakeNames().bronze) == {ORDERS}
    world.run(done(BAD, n=4))
    assert world.materialized(PAGE) == world.materialized(LakeNames().bronze) == 1
    assert evaluated(world.execute_checks()) == {
        ("bronze/orders", "nothing_quarantined"): False,
        ("bronze/orders", "schema_unchanged"): True,
    }


def test_the_page_of_a_table_is_materialized_by_the_run_of_its_partition(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(paper, instance, monkeypatch)
    world.state = state(0, ID)
    result = world.run(done(GOOD, n=1, adds=[ADD]))
    report = previous_report(instance, PAGE)
    assert (report.rows, report.version) == (2, 0)
    assert previous_report(instance, LakeNames().bronze, ORDERS) == PreviousReport(version=0)
    assert previous_report(instance, LakeNames().bronze, "landing.items") == PreviousReport()
    (record,) = instance.fetch_materializations(PAGE, limit=1).records
    assert record.run_id == result.run_id
    metadata: dict[str, Any] = dict(record.asset_materialization.metadata) if record.asset_materialization else {}
    assert set(metadata) >= {
        "rows", "files", "bytes", "live_files", "quarantined", "delta_version", "dagster/column_schema",
        "dagster/row_count", "dagster/uri",
    }  # fmt: skip
    world.state = state(1, ID, ("name", "string"))
    changed = evaluated(world.run(done(GOOD, n=2, adds=[ADD])))
    assert not changed["bronze/orders", "schema_unchanged"]
    assert ("bronze", "schema_unchanged") not in changed
    assert previous_report(instance, PAGE).rows == 4


def test_the_report_of_a_run_asks_for_nothing_that_its_batches_say(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server knows the version that the run committed. A table that was reset since, or is unborn, is opened."""
    world = World(paper, instance, monkeypatch)
    world.state = state(4, ID)
    replayed = done(GOOD, n=5)
    replayed = replace(replayed, landed=replace(replayed.landed, replayed=True))
    reset = done(GOOD, n=6)
    reset = replace(reset, batch=replace(reset.batch, generation="h"))
    duplicates = done(DUPLICATE, n=7, version=-1)
    for batches, seen, opened in [
        ([done(GOOD, n=4), done(GOOD, n=5)], 4, 1),
        ([replayed], -1, 1),
        ([reset], 5, 2),
        ([duplicates], -1, 1),
        ([], -1, 2),
    ]:
        world.seen.clear()
        world.opened = 0
        assert world.run(*batches).success
        assert (world.seen, world.opened) == ([seen], opened), batches


def test_a_fact_of_a_table_with_a_page_is_on_its_page_and_the_partition_has_a_link(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(paper, instance, monkeypatch)
    world.state = state(1, ID)
    result = world.run(done(BAD, GOOD, n=1, adds=[ADD]))
    page, partition = (event.materialization for event in result.get_asset_materialization_events())
    assert (page.asset_key, partition.asset_key, partition.partition) == (PAGE, LakeNames().bronze, ORDERS)
    summary = {name: value.value for name, value in partition.metadata.items()}
    assert summary == {
        "files": 1, "rows": 2, "bytes": 10, "removed": 0, "quarantined": 1, "batches": 1, "batch": 1,
        "delta_version": 1, "page": PAGE,
    }  # fmt: skip
    # The page has them with the columns, the objects in quarantine and the rows of the table.
    assert summary.keys() - {"page"} < page.metadata.keys()
    listed = {
        evaluation.asset_key.to_user_string(): "quarantine" in evaluation.metadata
        for evaluation in result.get_asset_check_evaluations()
        if evaluation.check_name == "nothing_quarantined"
    }
    assert listed == {"bronze": False, "bronze/orders": True}


def test_a_table_that_got_its_page_has_the_report_of_its_partition_before(instance: dg.DagsterInstance) -> None:
    """It was discovered, and is in lake.yaml now."""
    earlier = TableReport([], NOW).metadata(PARTITION_ROWS)
    bronze = LakeNames().bronze
    instance.report_runless_asset_event(dg.AssetMaterialization(bronze, partition="landing.new", metadata=earlier))
    page = LakeNames().bronze_table("new")
    assert asset._last_report(instance, bronze, "landing.new", page) == PreviousReport.from_metadata(earlier)
    instance.report_runless_asset_event(dg.AssetMaterialization(page, metadata={"dagster/row_count": 7}))
    assert asset._last_report(instance, bronze, "landing.new", page) == PreviousReport(rows=7)
    assert asset._last_report(instance, bronze, "landing.new", None) == PreviousReport.from_metadata(earlier)


def failed(report: TableReport) -> dict[str, dg.AssetCheckSeverity]:
    """Return the severities of the failed checks."""
    return {
        result.check_name or "": result.severity for result in report.checks(LakeNames().bronze) if not result.passed
    }


def test_batches_of_a_run_that_fails_later_are_shown_and_the_failure_too(
    paper: Paper, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(paper, instance, monkeypatch)
    world.state, world.error = state(1, ID), OSError("S3 does not answer")
    result = world.run(done(GOOD, n=1, adds=[ADD]), done(BAD, n=2))
    assert not result.success
    report = previous_report(instance, PAGE)
    assert (report.rows, report.version) == (2, 1)
    assert previous_report(instance, LakeNames().bronze, ORDERS) == PreviousReport(version=1)
    for key in (LakeNames().bronze, PAGE):
        check = dg.AssetCheckKey(key, "nothing_quarantined")
        (judged,) = instance.event_log_storage.get_asset_check_execution_history(check, limit=1)
        assert judged.status is AssetCheckExecutionRecordStatus.FAILED
    assert world.status() is AssetPartitionStatus.FAILED

    monkeypatch.setattr(asset, "table_report", lambda *_: 1 / 0)
    result = world.run(done(GOOD, n=3))
    assert "S3 does not answer" in str(result.failure_data_for_node("bronze")), "not the error of its report"
    (warning,) = [entry.user_message for entry in instance.all_logs(result.run_id) if entry.level == 30]
    assert warning == "batches 3..3 are in the ledger and are not shown here: division by zero"
    world.error = dg.DagsterExecutionInterruptedError()
    result = world.run(done(GOOD, n=4))
    assert [entry.user_message[:12] for entry in instance.all_logs(result.run_id) if entry.level == 30] == [
        "batches 4..4"
    ], "somebody ended the run"
