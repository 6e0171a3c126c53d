"""A lake with `commits: s3` under its printed policies: from a file to silver without DynamoDB, and then its move."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from rich.console import Console

from tests.support.log_store.delta_log import ENTRIES, DeltaLog, commit_file
from tests.support.servers.client import wait_until
from tests.support.servers.policed_aws import PolicedAws, RoleAws
from tidegate.platform.bronze.listener import RunListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.cli.check.check import run_check
from tidegate.platform.cli.commands.commits_migrate import run_migrate
from tidegate.platform.cli.commands.doctor import run_doctor
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.cloud.roles.dagster_role import dagster
from tidegate.platform.cloud.roles.person_roles import operator
from tidegate.platform.cloud.roles.spark_role import spark
from tidegate.platform.cloud.statement import Statements
from tidegate.platform.core.config.commits import Commits, log_store_class
from tidegate.platform.core.config.load import load_lake
from tidegate.platform.intake.tick import take_in
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.spark.server import SparkServer
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

NAME = "bys3"
TABLES: list[dict[str, Any]] = [
    {"name": "registered", "prefix": "registered/", "format": "json"},
    {"name": "loaded", "prefix": "loaded/", "format": "json", "silver": {"keys": ["id"], "order": "id", "every": 10}},
]
#: What a writer of ours staged and claimed, and did not publish.
STAGED = f".tmp/{commit_file(1)}.0b2f8b0e-4f6c-8b57-9c6e-2f2f0e6f1a11"
CLASSIC = f".tmp/{commit_file(2)}.0b2f8b0e-4f6c-4b57-9c6e-2f2f0e6f1a11"
COMMIT = '{"commitInfo": {"timestamp": 0, "operation": "TEST", "operationParameters": {}}}\n'


@dataclass
class Place:
    """A lake, its server, and a person who runs commands.

    Attributes:
        roles: the statements of each role, as the proxy enforces them.
    """

    aws: Any
    spark: SparkServer
    direct: LocalAws
    proxy: PolicedAws
    roles: dict[str, Statements]
    lake: TestLake = None  # type: ignore[assignment]

    def clients(self) -> Clients:
        return Clients.connect(self.direct.endpoint, REGION, key="test", secret="test")

    def calls_of_dynamodb(self) -> list[tuple[str, str]]:
        return [(asked.role, asked.action) for asked in self.proxy.asked if asked.action.startswith("dynamodb:")]

    def policies_for(self, commits: Commits) -> None:
        """Give all roles what is printed for the lake with this value."""
        spec = self.lake.config.lake.model_copy(update={"commits": commits})
        config = self.lake.config.model_copy(update={"lake": spec})
        self.roles |= {"dagster": dagster(config), "spark": spark(config)}
        self.roles["operator"] = (*dagster(config), *operator(config))

    def run(self, command: Callable[..., object], *given: Any, **options: Any) -> str:
        console = Console(file=io.StringIO(), width=1000, no_color=True)
        assert command(console, *given, **options) in (None, True), console.file.getvalue()  # type: ignore[attr-defined]
        return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]

    def rewrite(self, commits: Commits) -> None:
        body = yaml.safe_load(self.lake.path.read_text())
        body["lake"]["commits"] = commits
        self.lake.path.write_text(yaml.safe_dump(body, sort_keys=False))
        self.lake.config = self.lake.lake.config = load_lake(self.lake.path)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("by-s3")
    roles: dict[str, Statements] = {}
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        # Its own, in which no other test makes the DynamoDB table.
        local_aws = stack.enter_context(LocalAws(tmp_path_factory.mktemp("aws"), 0))
        proxy = stack.enter_context(PolicedAws(local_aws.endpoint, roles))
        environ = RoleAws(local_aws, proxy, "spark").environ
        store = log_store_class("s3")
        server = SparkServer(folder / "spark", environ, port=0, memory="2g", log_store=store, conf=SMALL_DATA)
        stack.callback(server.stop)
        server.start(150)
        made = Place(RoleAws(local_aws, proxy, "dagster"), server, local_aws, proxy, roles)
        more = {"lake": {"commits": "s3"}, "discovery": False}
        more |= {"queues": [{"url": made.aws.queue_url(f"events-{NAME}"), "dlq": f"events-{NAME}-dlq"}]}
        made.lake = TestLake(made, folder, NAME, TABLES, more)  # type: ignore[arg-type]
        made.policies_for("s3")
        # Closed before the server stops: at its exit a process asks a server that is gone for ten minutes.
        made.lake.lake = stack.enter_context(made.lake.resource.open_lake())
        user = {**RoleAws(local_aws, proxy, "operator").environ, **server.remote.environ}
        for name, value in {**user, "TIDEGATE_LAKE": str(made.lake.path)}.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        yield made


def bronze(place: Place, table: str) -> list[str]:
    """Run a table. Returns the lines of its log."""
    lines: list[str] = []
    listener = RunListener()
    listener.log = lines.append  # type: ignore[method-assign]
    handles = place.lake.lake
    run_table(handles.table(place.lake.key(table)), RunOptions("test", listing=False), listener)
    return lines


@pytest.mark.timeout(300)
def test_a_file_becomes_a_row_of_silver_without_one_call_of_dynamodb(place: Place) -> None:
    lake = place.lake
    for table in ("registered", "loaded"):
        lake.put(f"{table}/a.json", '{"id": 1}\n{"id": 2}\n')

    def take_all() -> bool:
        take_in(lake.lake, seconds=2)
        waiting = {each.table for each in lake.lake.store.inbox.waiting_manifests()}
        return waiting == {lake.key("registered"), lake.key("loaded")}

    wait_until(take_all, "an event of each table")
    assert [line for table in ("registered", "loaded") for line in bronze(place, table) if "WARNING" in line] == []
    merged = merge_table(lake.lake, lake.spec("loaded"))
    assert merged is not None
    assert merged.inserted == 2
    said = place.run(run_check, lake.path, None, f"s3://{lake.bucket}/loaded/a.json")
    assert "[spark.commits]  `lake.commits` is s3, and so is the server's log store" in said
    assert "all checks ok" in said
    assert place.calls_of_dynamodb() == []

    said = place.run(run_doctor, lake.path, None, repair=False)
    assert re.search(r"log store of the lake \[spark\.commits\]  `lake\.commits` is s3", said)
    # The doctor looks for writers that commit through DynamoDB. Its role may not, and need not.
    assert re.search(r"^ok .*\[commit-table\.others\]  not looked into, .*DescribeTable", said, re.MULTILINE), said
    assert [asked.action for asked in place.proxy.refused] == ["dynamodb:DescribeTable"]
    assert place.calls_of_dynamodb() == [("operator", "dynamodb:DescribeTable")]
    assert "nothing is wrong" in said


def _permit(place: Place, who: str) -> None:
    """Give the printed statements of DynamoDB to nobody, or to the operator alone."""
    place.policies_for("s3")
    of_spark = place.roles["spark"]
    if who == "the operator":
        place.policies_for("dynamodb")
        place.roles["spark"] = of_spark


@pytest.mark.timeout(300)
def test_the_command_names_each_step_to_s3_and_back_and_leaves_nothing_pending(place: Place) -> None:
    """The server's log store stays. What it would do after its restart, the tests of log stores show."""
    lake, dynamodb = place.lake, place.clients().dynamodb
    for who in ("nobody", "the operator"):
        _permit(place, who)
        with pytest.raises(
            CommandError, match="`tidegate policy spark`, and yours those of `tidegate policy operator`"
        ):
            place.run(run_migrate, "dynamodb", lake.path, None, yes=True)
        assert ENTRIES not in dynamodb.list_tables()["TableNames"], f"{who} may create the table"
    place.policies_for("dynamodb")
    said = place.run(run_migrate, "s3", lake.path, None, yes=True)
    assert f"DynamoDB table {ENTRIES}: there is none in {REGION} at http://" in said
    assert "nothing of this lake is pending" in said
    said = place.run(run_migrate, "dynamodb", lake.path, None, yes=False)
    assert "there is none in" in said
    assert "--yes creates it" in said
    assert "Nothing was changed. The next step: give the server's role the DynamoDB statements" in said
    assert ENTRIES not in dynamodb.list_tables()["TableNames"], "a look has created the table"
    said = place.run(run_migrate, "dynamodb", lake.path, None, yes=True)
    ttl = dynamodb.describe_time_to_live(TableName=ENTRIES)["TimeToLiveDescription"]
    assert ttl["AttributeName"] == CommitTable().expiry
    assert "write `commits: dynamodb` under `lake` in lake.yaml" in said
    assert "the last commit without DynamoDB was" in said
    birth = lake.lake.table(lake.key("loaded")).birth
    assert birth is not None
    log = DeltaLog(place.clients(), birth.location)
    log.write(STAGED, COMMIT)
    log.claim(1, STAGED)

    said = place.run(run_migrate, "s3", lake.path, None, yes=False)
    assert re.search(r"^bronze\.loaded: version 1 is pending, staged 0 minutes ago, since its writer died", said, re.M)
    assert "Nothing was changed. The next step: tidegate commits migrate --to s3 --yes, and settles" in said
    assert log.open_entries() == [1]
    said = place.run(run_migrate, "s3", lake.path, None, yes=True)
    assert log.read(commit_file(1)) == COMMIT
    assert (log.open_entries(), log.names()) == ([], [name for name in log.names() if ".tmp" not in name])
    assert re.search(r"^bronze\.loaded: ready, version 1", said, re.M)
    assert "done: lake.yaml and the server" in said
    assert "the last commit through DynamoDB was 0 minutes ago" in said
    assert "commits migrate --to s3" in {each["operation"] for each in lake.lake.store.operations.entries()}

    said = place.run(run_doctor, lake.path, None, repair=True)
    assert re.search(r"\[commit-table\.others\]  looked into for entries of other writers", said)
    log.write(CLASSIC, COMMIT)
    log.claim(2, CLASSIC)
    console = Console(file=io.StringIO(), width=1000, no_color=True)
    assert not run_doctor(console, lake.path, None, repair=True)
    with pytest.raises(Exception, match="1 table cannot move to s3 yet"):
        run_migrate(console, "s3", lake.path, None, yes=True)
    assert "1 commits of the last 24 hours are by writers with another" in console.file.getvalue()  # type: ignore[attr-defined]
    assert log.read(commit_file(2)) == COMMIT, "what the other writer had acknowledged is lost"
    log.forget(2)

    place.rewrite("dynamodb")
    lake.put("loaded/b.json", '{"id": 3}\n')

    def take_one() -> bool:
        take_in(lake.lake, seconds=2)
        return bool(lake.lake.store.inbox.waiting_manifests(lake.key("loaded")))

    wait_until(take_one, "an event")
    (line,) = [line for line in bronze(place, "loaded") if "WARNING" in line]
    assert re.search(
        r"s3a\.impl on the server is \S+ConditionalS3LogStore, and `lake\.commits` in lake\.yaml is dyn", line
    )
    console = Console(file=io.StringIO(), width=1000, no_color=True)
    assert not run_check(console, lake.path, None, None)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"^FAILED .*\[spark\.commits\].*unless Delta's own store .* then stop this server", said, re.M)
    assert len(re.findall("^FAILED", said, re.M)) == 1
    said = place.run(run_migrate, "dynamodb", lake.path, None, yes=True)
    assert re.search(r"next: restart the Spark server \S+ with io\.tidegate\.storage\.DynamoDbLogStore", said)
