"""`tidegate status` and `tidegate tail` on a real inbox, real queues and a real storage of Dagster, without Spark."""

import io
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from rich.console import Console

from tidegate.assets.bronze.previous_report import TableSnapshot
from tidegate.assets.bronze.report import TableReport
from tidegate.assets.keys import LakeNames
from tidegate.platform.bronze.run import BatchResult
from tidegate.platform.cli.answers.health import NewsAnswer, StatusAnswer
from tidegate.platform.cli.commands.status import run_status
from tidegate.platform.cli.commands.tail import run_tail
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.ledger import LedgerRow, Status
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.lake_root.store import LakeStore
from tidegate.platform.lake.spark.results import CommitResult
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients, provision

SILVER = {"keys": ["id"], "order": "at", "every": 10}


class Shore:
    """A lake of a local AWS, with a storage of Dagster, which the environment names."""

    def __init__(self, aws: LocalAws, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tag = uuid.uuid4().hex[:8]
        self.landing, self.queue = f"landing-{tag}", f"events-{tag}"
        body = {
            "lake": {"root": f"s3://lake-{tag}/root"},
            "queues": [{"url": aws.queue_url(self.queue)}],
            "buckets": [self.landing],
            "tables": [
                {"name": "orders", "prefix": f"s3://{self.landing}/orders/", "silver": SILVER},
                {"name": "idle", "prefix": f"s3://{self.landing}/idle/"},
            ],
        }
        self.path = folder / "lake.yaml"
        self.path.write_text(yaml.safe_dump(body))
        config = load_lake(self.path)
        clients = Clients.connect(aws.endpoint, REGION, key="test", secret="test")
        provision(clients, WantedResources.from_config(config))
        self.inbox = LakeStore(ObjectStore(clients.s3), config.lake.root).inbox
        self.key = config.tables[0].table_key.encode()
        self.dagster = folder / "dagster"
        self.dagster.mkdir()
        # The working directory has no platform.
        monkeypatch.chdir(folder)
        for name, value in aws.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("TIDEGATE_LAKE", str(self.path))
        monkeypatch.setenv("DAGSTER_HOME", str(self.dagster))
        self.out = Console(file=io.StringIO(), width=160, no_color=True)

    def put(self, *hints: Hint) -> None:
        self.inbox.put([Manifest.create(self.key, "intake", hints)])

    def instance(self) -> dg.DagsterInstance:
        return dg.DagsterInstance.from_config(str(self.dagster))

    def said(self) -> str:
        """Return what was printed since the last call."""
        assert isinstance(self.out.file, io.StringIO)
        text = self.out.file.getvalue()
        self.out.file.seek(0)
        self.out.file.truncate()
        return text

    def status(self) -> tuple[bool, StatusAnswer]:
        ok = run_status(self.out, None, None, as_json=True)
        return ok, StatusAnswer.model_validate_json(self.said(), strict=True)

    def reported(self, *rows: LedgerRow, n: int) -> None:
        """Report a run of the table with one batch, as the run does."""
        batch = Batch("lake", self.key, "g", n, "s3a://x", n - 1, (), rows)
        done = BatchResult(batch, CommitResult(n - 1, "committed", "", None, False))

        @dg.op
        def run(context: dg.OpExecutionContext) -> None:
            report = TableReport([done], TableSnapshot("orders"))
            for event in report.run_events(LakeNames().bronze, self.key, LakeNames().bronze_table("orders")):
                context.log_event(event)

        @dg.job
        def bronze_job() -> None:
            run()

        with self.instance() as instance:
            instance.add_dynamic_partitions("tables", [self.key])
            bronze_job.execute_in_process(instance=instance)

    def merged(self) -> None:
        """Report a merge of the silver table."""
        metadata = {"batches": 1, "inserted": 2, "updated": 0, "deleted": 1, "batch": 3, "delta_version": 4}
        with self.instance() as instance:
            instance.report_runless_asset_event(dg.AssetMaterialization(["silver", "orders"], metadata=metadata))

    def fails(self) -> None:
        @dg.op
        def load() -> None:
            raise RuntimeError("the load failed")

        @dg.job
        def bronze_job() -> None:
            load()

        with self.instance() as instance:
            tags = {"dagster/partition": self.key}
            bronze_job.execute_in_process(instance=instance, tags=tags, raise_on_error=False)


@pytest.fixture
def shore(local_aws: LocalAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shore:
    return Shore(local_aws, tmp_path, monkeypatch)


def test_status_says_by_its_exit_code_whether_something_needs_a_person(shore: Shore) -> None:
    ok, answer = shore.status()
    assert ok
    assert answer.ok
    assert {check.name for check in answer.checks} >= {"every_table_keeps_up", "everything_is_measured"}
    assert all(check.passed for check in answer.checks)
    assert [table.table for table in answer.tables] == ["idle", "orders"]

    fresh = datetime.now(UTC).isoformat()
    shore.put(Hint("orders/a", Event("m#0", time=fresh), 5))
    shore.fails()
    ok, answer = shore.status()
    assert ok, "a failed run is tried again: a warning"
    assert [(failed.table, failed.why) for failed in answer.failed] == [(shore.key, "RuntimeError: the load failed")]
    assert run_status(shore.out, None, None, as_json=False)
    said = shore.said()
    assert f"{shore.key}: its last run failed at " in said
    assert "warning no_table_s_runs_fail" in said
    assert said.endswith(": ok: 2 tables, 0 behind; 1 file waiting\n")

    old = (datetime.now(UTC) - timedelta(hours=2)).isoformat()
    shore.put(Hint("orders/b", Event("m#1", time=old), 7))
    ok, answer = shore.status()
    assert not ok
    assert (answer.tables[0].table, answer.tables[0].behind, answer.tables[0].bytes) == ("orders", True, 12)
    assert {check.name: check.severity for check in answer.checks if not check.passed} == {
        "every_table_keeps_up": "error",
        "no_table_s_runs_fail": "warning",
    }
    assert not run_status(shore.out, None, None, as_json=False)
    said = shore.said()
    assert "! orders" in said
    assert "FAILED  every_table_keeps_up: look at the failed runs of their partitions of bronze" in said
    assert said.endswith(": NOT OK: 2 tables, 1 behind; 2 files waiting\n")


def test_status_says_in_words_that_a_server_without_work_does_not_run(
    shore: Shore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert shore.status()[1].spark is None, "a server that is always there is not asked"
    shore.path.write_text(f"{shore.path.read_text()}spark: {{start: on_demand}}\n")
    ok, answer = shore.status()
    assert (ok, answer.spark) == (True, "not running, because there is no work; the next run starts it")
    assert run_status(shore.out, None, None, as_json=False)
    assert "Spark: not running, because there is no work; the next run starts it" in shore.said()
    assert not (shore.path.parent / ".tidegate").exists()


def test_what_cannot_be_measured_is_not_healthy(shore: Shore) -> None:
    body: dict[str, Any] = yaml.safe_load(shore.path.read_text())
    body["queues"] = [{"url": f"{body['queues'][0]['url']}-gone"}]
    shore.path.write_text(yaml.safe_dump(body))
    ok, answer = shore.status()
    assert not ok
    assert len(answer.unknown) == 1
    assert [(check.name, check.severity) for check in answer.checks if not check.passed] == [
        ("everything_is_measured", "error")
    ]


def test_without_a_storage_of_dagster_the_two_commands_say_what_to_set(
    shore: Shore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME")
    with pytest.raises(CommandError, match="set DAGSTER_HOME to the folder of its Dagster instance"):
        run_status(shore.out, None, None, as_json=False)
    with pytest.raises(CommandError, match="set DAGSTER_HOME to the folder of its Dagster instance"):
        run_tail(shore.out, None, None, seconds=0, as_json=False)


def test_tail_follows_what_arrives_and_what_becomes_of_it_until_ctrl_c(shore: Shore) -> None:
    good, bad = (
        LedgerRow("orders/good.json", Status.COMMITTED, rows=2),
        LedgerRow("orders/bad.json", Status.QUARANTINED, "none of its 3 rows fits the table", etag="e"),
    )
    # From before: neither is news.
    shore.reported(good, bad, n=1)
    shore.fails()

    def ctrl_c() -> None:
        raise KeyboardInterrupt

    happenings: list[Callable[[], None]] = [
        lambda: None,
        lambda: shore.put(Hint("orders/a", size=5), Hint("orders/b", size=6)),
        lambda: shore.reported(good, n=2),
        lambda: shore.reported(bad, n=3),
        lambda: shore.merged(),
        lambda: shore.fails(),
        lambda: None,
        ctrl_c,
    ]

    def happening(seconds: float) -> None:
        assert seconds == 1.0
        happenings.pop(0)()

    run_tail(shore.out, None, None, seconds=None, as_json=True, sleep=happening)
    news = [NewsAnswer.model_validate_json(line, strict=True) for line in shore.said().splitlines()]
    assert [(event.event, event.table) for event in news] == [
        ("waiting", "orders"),
        ("committed", "orders"),
        ("quarantined", "orders"),
        ("merged", "silver.orders"),
        ("failed", "orders"),
    ]
    waiting, committed, quarantined, merged, failed = news
    assert waiting.numbers == {"files": 2, "bytes": 11}
    assert (committed.numbers["files"], committed.numbers["rows"], committed.numbers["batch"]) == (1, 2, 2)
    assert (quarantined.key, quarantined.detail) == ("orders/bad.json", "none of its 3 rows fits the table")
    assert merged.numbers == {"inserted": 2, "updated": 0, "deleted": 1, "batch": 3, "delta_version": 4}
    assert failed.detail.endswith(": RuntimeError: the load failed")
    assert happenings == []


def test_tail_ends_after_its_time_and_prints_lines_for_people(shore: Shore) -> None:
    ticks = iter([0.0, 0.5, 2.0])

    def waits(seconds: float) -> None:
        assert seconds == 1.0
        shore.put(Hint("orders/a", size=1500))

    run_tail(shore.out, None, None, seconds=2.0, as_json=False, clock=lambda: next(ticks), sleep=waits)
    first, news = shore.said().splitlines()
    assert first == f"Following {shore.path}; Ctrl-C ends it"
    assert news[9:].split() == ["waiting", "orders", "1", "file,", "1.5", "kB"]


def test_tail_continues_when_s3_does_not_answer(shore: Shore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    waits = iter(range(2))

    def two(seconds: float) -> None:
        if next(waits, None) is None:
            raise KeyboardInterrupt

    run_tail(shore.out, None, None, seconds=None, as_json=True, sleep=two)
    (news,) = map(json.loads, shore.said().splitlines())
    assert news["event"] == "unknown", "once, not at each request"
    assert news["detail"].startswith("the inbox: ")
