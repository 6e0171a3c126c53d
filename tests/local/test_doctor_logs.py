"""The doctor on logs and entries as dead, foreign and classic writers leave them, on a local AWS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tidegate.platform.cli import doctor_logs
from tidegate.platform.cli.doctor import check_table
from tidegate.platform.cli.doctor_logs import LogDoctor
from tidegate.platform.cli.findings import Failed
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.resources.commit_table import CommitTable
from tidegate.resources.object_store import ObjectStore

pytestmark = pytest.mark.unit

OURS = ".tmp/00000000000000000002.json.0b2f8b0e-4f6c-8b57-9c6e-2f2f0e6f1a11"
CLASSIC = ".tmp/00000000000000000002.json.0b2f8b0e-4f6c-4b57-9c6e-2f2f0e6f1a11"


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    with LocalAws(tmp_path_factory.mktemp("aws"), 0) as aws:
        found = Clients.connect(aws.endpoint, REGION, key="test", secret="test")
        found.s3.create_bucket(Bucket="lake")
        found.dynamodb.create_table(
            TableName="delta_log",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("tablePath", "fileName")],
            KeySchema=[
                {"AttributeName": "tablePath", "KeyType": "HASH"},
                {"AttributeName": "fileName", "KeyType": "RANGE"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        yield found


@dataclass
class Table:
    """A Delta table's log, written by hand."""

    clients: Clients
    name: str

    @property
    def location(self) -> str:
        return f"s3a://lake/{self.name}"

    @property
    def doctor(self) -> LogDoctor:
        return LogDoctor(ObjectStore(self.clients.s3), CommitTable(self.clients.dynamodb, "delta_log"), grace=0)

    def file(self, name: str, body: str = "commit") -> None:
        self.clients.s3.put_object(Bucket="lake", Key=f"{self.name}/_delta_log/{name}", Body=body.encode())

    def commit(self, version: int, body: str = "commit") -> None:
        self.file(f"{version:020d}.json", body)

    def entry(self, version: int, temp: str = "gone", *, complete: bool = True, scheme: str = "s3a") -> None:
        item: dict[str, Any] = {
            "tablePath": {"S": f"{scheme}://lake/{self.name}"},
            "fileName": {"S": f"{version:020d}.json"},
            "tempPath": {"S": temp},
            "complete": {"S": "true" if complete else "false"},
        }
        self.clients.dynamodb.put_item(TableName="delta_log", Item=item)

    def findings(self) -> dict[str, tuple[bool, str]]:
        return {one.what.removeprefix("t: "): (one.ok, one.detail) for one in self.doctor.examine("t", self.location)}

    def names(self) -> set[str]:
        pages = self.clients.s3.get_paginator("list_objects_v2").paginate(Bucket="lake", Prefix=f"{self.name}/")
        start = len(f"{self.name}/_delta_log/")
        return {item["Key"][start:] for page in pages for item in page.get("Contents", [])}


@pytest.fixture
def table(clients: Clients, request: pytest.FixtureRequest) -> Table:
    made = Table(clients, request.node.name)
    made.commit(0)
    made.commit(1)
    made.entry(0)
    made.entry(1)
    return made


def test_a_log_in_order(table: Table) -> None:
    found = table.findings()
    assert found["entries"] == (True, f"version 1, under s3a://lake/{table.name}")
    assert found["staged commits"] == (True, "none")


def test_a_table_that_is_not_there_yet(clients: Clients) -> None:
    assert Table(clients, "nothing").findings() == {"log": (True, "no table yet")}


def test_a_pending_commit_is_a_problem_with_the_remedy(table: Table) -> None:
    table.file(OURS)
    table.entry(2, OURS, complete=False)
    ok, detail = table.findings()["entries"]
    assert not ok
    assert "version 2 is pending" in detail
    assert "--repair" in detail
    assert table.findings()["staged commits"] == (True, "1, 0 to sweep with --repair")


def test_a_claim_without_bytes_names_the_item_to_delete(table: Table) -> None:
    table.entry(2, OURS, complete=False)
    ok, detail = table.findings()["entries"]
    assert not ok
    assert "delete the item 00000000000000000002.json" in detail


@pytest.mark.parametrize(("version", "complete"), [(2, True), (7, False), (5000, True)])
def test_entries_of_a_dropped_table(table: Table, version: int, complete: bool) -> None:
    table.entry(version, OURS, complete=complete)
    ok, detail = table.findings()["entries"]
    assert not ok
    assert "dropped" in detail
    assert f"tablePath s3a://lake/{table.name}" in detail


def test_entries_under_two_spellings(table: Table) -> None:
    table.entry(1, scheme="s3")
    ok, detail = table.findings()["entries"]
    assert not ok
    assert "do not see each other" in detail


def test_commits_of_writers_without_dynamodb_are_counted(table: Table) -> None:
    table.commit(2)
    table.commit(3)
    table.entry(3)
    assert "; 1 commits of the last day are of writers without DynamoDB" in table.findings()["entries"][1]


def test_a_classic_writer_s_lost_commit_is_found_and_never_swept(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    table.commit(2, "foreign")
    table.entry(2, CLASSIC)
    table.file(CLASSIC, "classic")
    ok, detail = table.findings()["staged commits"]
    assert not ok
    assert "possibly lost" in detail
    assert CLASSIC in detail
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    assert table.doctor.sweep(table.location) == 0
    assert CLASSIC in table.names()


def test_old_staged_commits_are_swept_and_claimed_ones_kept(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    orphan = OURS.replace("0b2f", "1b2f")
    same = CLASSIC.replace("0002.json.0b", "0001.json.1b")
    table.file(orphan)
    table.file(same)  # what it holds was published
    table.file("_commit_0b2f8b0e-4f6c-4b57-9c6e-2f2f0e6f1a11.json.tmp")
    table.file(OURS)
    table.entry(2, OURS, complete=False)
    assert table.findings()["staged commits"] == (True, "4, 0 to sweep with --repair")
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    assert table.findings()["staged commits"] == (True, "4, 3 to sweep with --repair")
    assert table.doctor.sweep(table.location) == 3
    assert {name for name in table.names() if not name.endswith(".json")} == {OURS}


def test_the_dynamodb_table_must_be_there_and_expire_its_items(clients: Clients, tmp_path: Path) -> None:
    with pytest.raises(Failed, match="there is none"):
        check_table(CommitTable(clients.dynamodb, "another"))
    entries = CommitTable(clients.dynamodb, "delta_log")
    with pytest.raises(Failed, match="TTL is not enabled"):
        check_table(entries)
    clients.dynamodb.update_time_to_live(
        TableName="delta_log", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expireTime"}
    )
    assert check_table(entries) == "PAY_PER_REQUEST, TTL on expireTime"
