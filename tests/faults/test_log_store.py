"""The log store with DynamoDB and S3 behind a proxy that drops, refuses and holds (peers' F4, F5, F7 to F11)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.dynamodb_local import DynamoDbLocal, direct
from tests.faults.client import DEADLINE
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.fault_proxy import FaultProxy
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark_conf import SMALL_DATA
from tidegate.platform.local.spark_server import SparkServer
from tidegate.resources.spark import session_of_its_own

pytestmark = pytest.mark.faults

BUCKET = "coordinated"
FOREIGN = '{"commitInfo":{"timestamp":0,"operation":"FOREIGN","operationParameters":{}}}\n'


class Coordinated:
    """A Delta table whose every request passes the proxy."""

    def __init__(self, session: SparkSession, clients: Clients, proxy: FaultProxy) -> None:
        self.session, self.clients, self.proxy = session, clients, proxy
        self.name = f"t{uuid.uuid4().hex[:8]}"
        self.path = f"s3a://{BUCKET}/{self.name}"

    def append(self, first: int) -> None:
        """By SQL where it can be: of a DataFrame's write Spark hides the error behind one of its own."""
        if self.versions():
            self.session.sql(f"INSERT INTO delta.`{self.path}` SELECT id FROM range({first}, {first + 10})").collect()
        else:
            self.session.range(first, first + 10).write.format("delta").mode("append").save(self.path)

    @contextmanager
    def append_held(self, first: int, method: str, path: str) -> Iterator[None]:
        """An append, one request of which is held until the block ends; it must succeed then."""
        held = self.proxy.hold(method, path)
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(self.append, first)
            try:
                held.wait_caught(DEADLINE)
                yield
            finally:
                held.release()
            writing.result(DEADLINE)

    def rows(self) -> list[int]:
        return sorted(row[0] for row in self.session.read.format("delta").load(self.path).collect())

    def log(self) -> list[str]:
        found = self.clients.s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{self.name}/_delta_log/")
        return [item["Key"].partition("_delta_log/")[2] for item in found.get("Contents", [])]

    def versions(self) -> list[int]:
        return [int(name[:20]) for name in self.log() if name.endswith(".json") and "/" not in name]

    def put(self, name: str, body: str) -> None:
        self.clients.s3.put_object(Bucket=BUCKET, Key=f"{self.name}/_delta_log/{name}", Body=body.encode())

    def get(self, name: str) -> str:
        found = self.clients.s3.get_object(Bucket=BUCKET, Key=f"{self.name}/_delta_log/{name}")
        return found["Body"].read().decode()

    def entry(self, version: int) -> dict[str, Any] | None:
        found = self.clients.dynamodb.get_item(TableName="delta_log", Key=self.key(version))
        return found.get("Item")

    def key(self, version: int) -> dict[str, Any]:
        return {"tablePath": {"S": self.path}, "fileName": {"S": file(version)}}

    def claim(self, version: int, staged: str, *, complete: bool = False) -> None:
        item = {**self.key(version), "tempPath": {"S": staged}, "complete": {"S": str(complete).lower()}}
        self.clients.dynamodb.put_item(TableName="delta_log", Item=item)

    def assert_tidy(self) -> None:
        """Versions without a gap, nothing staged, nothing pending."""
        versions = self.versions()
        assert versions == list(range(len(versions)))
        assert not [name for name in self.log() if ".tmp" in name]
        assert all((entry := self.entry(n)) is None or entry["complete"]["S"] == "true" for n in versions)


def file(version: int) -> str:
    return f"{version:020d}.json"


def classic(version: int) -> str:
    return f".tmp/{file(version)}.{uuid.uuid4()}"


@contextmanager
def serving(home: Path) -> Iterator[tuple[SparkSession, Clients, FaultProxy]]:
    with (
        LocalAws(home / "aws", 0) as aws,
        DynamoDbLocal(home / "dynamodb") as dynamodb,
        FaultProxy(aws.endpoint, dynamodb.endpoint) as proxy,
    ):
        keys = aws.environ
        clients = direct(aws, dynamodb)
        clients.s3.create_bucket(Bucket=BUCKET)
        server = SparkServer(
            home / "spark", {**keys, "AWS_ENDPOINT_URL": proxy.endpoint}, port=0, memory="2g", conf=SMALL_DATA
        )
        try:
            server.start(DEADLINE)
            with session_of_its_own(server.remote) as session:
                yield session, clients, proxy
        finally:
            server.stop()


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Coordinated]]:
    with serving(tmp_path_factory.mktemp("log-store")) as (session, clients, proxy):
        yield lambda: Coordinated(session, clients, proxy)


@pytest.fixture
def table(make: Callable[[], Coordinated]) -> Coordinated:
    made = make()
    made.append(0)
    return made


def test_the_table_of_entries_is_made_on_demand_with_ttl(table: Coordinated) -> None:
    described = table.clients.dynamodb.describe_table(TableName="delta_log")["Table"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    ttl = table.clients.dynamodb.describe_time_to_live(TableName="delta_log")["TimeToLiveDescription"]
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "expireTime")
    entry = table.entry(0)
    assert entry is not None
    assert entry["complete"] == {"S": "true"}
    assert entry["tempPath"]["S"].startswith(f".tmp/{file(0)}.")
    table.assert_tidy()


def test_f4_a_claim_whose_reply_was_lost_is_recognised(table: Coordinated) -> None:
    dropped = table.proxy.drop_reply("POST", "/PutItem$")
    table.append(10)
    assert dropped.count == 1
    assert table.rows() == list(range(20))
    assert table.versions() == [0, 1]
    table.assert_tidy()


def test_f5_a_commit_file_whose_reply_was_lost_is_recognised(table: Coordinated) -> None:
    dropped = table.proxy.drop_reply("PUT", f"{table.name}/_delta_log/{file(1)}$")
    table.append(10)
    assert dropped.count == 1
    assert table.rows() == list(range(20))
    assert table.versions() == [0, 1]
    table.assert_tidy()


@pytest.mark.parametrize("status", [409, 500, 503])
def test_f5_refused_for_now_is_tried_again(table: Coordinated, status: int) -> None:
    refused = table.proxy.status("PUT", f"{table.name}/_delta_log/{file(1)}$", status)
    table.append(10)
    assert refused.count == 1
    assert table.rows() == list(range(20))
    table.assert_tidy()


def test_f7_a_failing_dynamodb_ends_in_a_clear_error_and_no_commit(table: Coordinated) -> None:
    failing = table.proxy.status("POST", "/PutItem$", 500, times=8)
    with pytest.raises(PySparkException, match=r"outcome of version 1 of .* is unknown"):
        table.append(10)
    assert failing.count == 8, "it was not tried as often as it should"
    assert table.rows() == list(range(10))
    assert table.versions() == [0]
    table.append(10)
    assert table.rows() == list(range(20))


def test_f8_a_late_writer_finds_the_version_taken_though_its_entry_has_expired(table: Coordinated) -> None:
    with table.append_held(10, "POST", "/PutItem$"):
        table.put(file(1), FOREIGN)
    assert table.get(file(1)) == FOREIGN
    assert table.rows() == list(range(20))
    assert table.versions() == [0, 1, 2]
    table.assert_tidy()


def test_f9_entries_of_a_dropped_table_refuse_writes_until_they_are_deleted(make: Callable[[], Coordinated]) -> None:
    table = make()
    table.claim(0, "gone", complete=True)
    table.claim(5000, "gone", complete=True)
    with pytest.raises(PySparkException, match="TIDEGATE_LOG_STALE"):
        table.session.sql(f"CREATE TABLE delta.`{table.path}` (id BIGINT) USING delta").collect()
    assert table.versions() == []
    for version in (0, 5000):
        table.clients.dynamodb.delete_item(TableName="delta_log", Key=table.key(version))
    table.append(0)
    assert table.rows() == list(range(10))


def test_f10_a_claim_without_bytes_is_never_called_complete(table: Coordinated) -> None:
    table.claim(1, classic(1))
    with pytest.raises(PySparkException, match=r"delete the item 00000000000000000001\.json"):
        table.append(10)
    entry = table.entry(1)
    assert entry is not None
    assert entry["complete"] == {"S": "false"}
    table.clients.dynamodb.delete_item(TableName="delta_log", Key=table.key(1))
    table.append(10)
    assert table.rows() == list(range(20))


@pytest.mark.parametrize("staged", [classic(1), f"_commit_{uuid.uuid4()}.json.tmp"], ids=["Delta's", "delta-rs's"])
def test_f2_what_a_dead_writer_claimed_is_published_by_the_next_reader(table: Coordinated, staged: str) -> None:
    table.put(staged, FOREIGN)
    table.claim(1, staged)
    assert table.rows() == list(range(10))
    assert table.get(file(1)) == FOREIGN
    table.assert_tidy()


def test_f3_what_a_dead_writer_published_is_completed(table: Coordinated) -> None:
    staged = classic(1)
    table.put(staged, FOREIGN)
    table.put(file(1), FOREIGN)
    table.claim(1, staged)
    table.append(10)
    assert table.rows() == list(range(20))
    table.assert_tidy()


def test_f11_a_foreign_commit_between_claim_and_publication_stays_and_ours_follows(table: Coordinated) -> None:
    """The writer is held with its claim made; a writer without DynamoDB takes the version."""
    with table.append_held(10, "PUT", f"{table.name}/_delta_log/{file(1)}$"):
        assert table.entry(1) is not None
        table.put(file(1), FOREIGN)
    assert table.get(file(1)) == FOREIGN
    assert table.rows() == list(range(20))
    assert table.versions() == [0, 1, 2]
    table.assert_tidy()


def test_f11_a_classic_writer_s_lost_commit_keeps_its_bytes(table: Coordinated) -> None:
    staged = classic(1)
    mine = json.dumps({"commitInfo": {"timestamp": 1, "operation": "CLASSIC", "operationParameters": {}}})
    table.put(staged, mine)
    table.claim(1, staged)
    table.put(file(1), FOREIGN)
    table.append(10)
    assert table.rows() == list(range(20))
    assert table.get(staged) == mine
    assert table.get(file(1)) == FOREIGN


def test_f12_the_spelling_that_has_entries_is_used_and_two_are_refused(table: Coordinated) -> None:
    s3 = {"tablePath": {"S": f"s3://{BUCKET}/{table.name}"}, "fileName": {"S": file(0)}}
    item = {**s3, "tempPath": {"S": "gone"}, "complete": {"S": "true"}}
    other = Coordinated(table.session, table.clients, table.proxy)
    other.put(file(0), table.get(file(0)))
    table.clients.dynamodb.put_item(
        TableName="delta_log", Item={**item, "tablePath": {"S": f"s3://{BUCKET}/{other.name}"}}
    )
    other.append(10)
    assert other.entry(1) is None, "the entry is not under the spelling that has entries"
    other.claim(0, "gone", complete=True)
    twice = Coordinated(table.session, table.clients, table.proxy)
    twice.claim(0, "gone", complete=True)
    table.clients.dynamodb.put_item(
        TableName="delta_log", Item={**item, "tablePath": {"S": f"s3://{BUCKET}/{twice.name}"}}
    )
    with pytest.raises(PySparkException, match="TIDEGATE_LOG_SPELLING"):
        table.session.sql(f"CREATE TABLE delta.`{twice.path}` (id BIGINT) USING delta").collect()
