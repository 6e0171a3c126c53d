"""The log store behind a proxy that drops, refuses and holds (docs/internals/faults.md: F2 to F5, F7 to F12)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.log_store.delta_log import commit_file
from tests.support.plugins.proxied_aws import ProxiedAws
from tests.support.servers.client import DEADLINE

FOREIGN = '{"commitInfo":{"timestamp":0,"operation":"FOREIGN","operationParameters":{}}}\n'


class Table:
    """A Delta table whose every request passes the proxy."""

    def __init__(self, session: SparkSession, aws: ProxiedAws) -> None:
        self.session, self.proxy, self.dynamodb = session, aws.proxy, aws.clients.dynamodb
        self.log = aws.new_log()
        self.path = self.log.location

    def append(self, first: int) -> None:
        """Append by SQL if possible: in a DataFrame's write Spark hides the error behind its own."""
        if self.log.versions():
            self.session.sql(f"INSERT INTO delta.`{self.path}` SELECT id FROM range({first}, {first + 10})").collect()
        else:
            self.session.range(first, first + 10).write.format("delta").mode("append").save(self.path)

    def create(self) -> None:
        self.session.sql(f"CREATE TABLE delta.`{self.path}` (id BIGINT) USING delta").collect()

    @contextmanager
    def append_held(self, first: int, method: str, path: str) -> Iterator[None]:
        """Append, with one request held until the block ends. Then the append must succeed."""
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

    def possibly_lost(self) -> int:
        """Return the number of possibly lost commits of other writers that the server has found."""
        return int(self.session.sql("CALL tidegate.system.commit_table()").collect()[0]["possibly_lost"])

    def assert_tidy(self) -> None:
        """Assert versions without a gap, nothing staged and nothing pending."""
        versions = self.log.versions()
        assert versions == list(range(len(versions)))
        assert not [name for name in self.log.names() if ".tmp" in name]
        assert self.log.open_entries() == []


def classic(version: int) -> str:
    return f".tmp/{commit_file(version)}.{uuid.uuid4()}"


@pytest.fixture
def make(proxied_spark: SparkSession, proxied_aws: ProxiedAws) -> Callable[[], Table]:
    return lambda: Table(proxied_spark, proxied_aws)


@pytest.fixture
def table(make: Callable[[], Table]) -> Table:
    made = make()
    made.append(0)
    return made


def test_the_table_of_entries_is_made_on_demand_with_ttl(table: Table) -> None:
    described = table.dynamodb.describe_table(TableName="delta_log")["Table"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    ttl = table.dynamodb.describe_time_to_live(TableName="delta_log")["TimeToLiveDescription"]
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "expireTime")
    entry = table.log.entries()[0]
    assert entry["complete"] == {"S": "true"}
    assert entry["tempPath"]["S"].startswith(f".tmp/{commit_file(0)}.")
    table.assert_tidy()


def test_f4_a_claim_whose_reply_was_lost_is_recognised(table: Table) -> None:
    dropped = table.proxy.drop_reply("POST", "/PutItem$")
    table.append(10)
    assert dropped.count == 1
    assert table.rows() == list(range(20))
    assert table.log.versions() == [0, 1]
    table.assert_tidy()


def test_requests_that_are_cut_on_their_way_are_sent_again(table: Table) -> None:
    """Claim, publication and completion of one commit. A request that S3 or DynamoDB never received had no effect."""
    cuts = [
        table.proxy.cut(method, path)
        for method, path in (("POST", "/PutItem$"), ("PUT", table.log.publication(1)), ("POST", "/UpdateItem$"))
    ]
    table.append(10)
    assert [cut.count for cut in cuts] == [1, 1, 1]
    assert table.rows() == list(range(20))
    assert table.log.versions() == [0, 1]
    table.assert_tidy()


def test_f5_a_commit_file_whose_reply_was_lost_is_recognised(table: Table) -> None:
    dropped = table.proxy.drop_reply("PUT", table.log.publication(1))
    table.append(10)
    assert dropped.count == 1
    assert table.rows() == list(range(20))
    assert table.log.versions() == [0, 1]
    table.assert_tidy()


@pytest.mark.parametrize("status", [409, 500, 503])
def test_f5_refused_for_now_is_tried_again(table: Table, status: int) -> None:
    refused = table.proxy.status("PUT", table.log.publication(1), status)
    table.append(10)
    assert refused.count == 1
    assert table.rows() == list(range(20))
    table.assert_tidy()


def test_f7_a_failing_dynamodb_ends_in_a_clear_error_and_no_commit(table: Table) -> None:
    failing = table.proxy.status("POST", "/PutItem$", 500, times=8)
    with pytest.raises(PySparkException, match=r"outcome of version 1 of .* is unknown"):
        table.append(10)
    assert failing.count == 8, "it was not tried as often as it should"
    assert table.rows() == list(range(10))
    assert table.log.versions() == [0]
    table.append(10)
    assert table.rows() == list(range(20))


def test_f8_a_late_writer_finds_the_version_taken_though_its_entry_has_expired(table: Table) -> None:
    with table.append_held(10, "POST", "/PutItem$"):
        table.log.write(commit_file(1), FOREIGN)
    assert table.log.read(commit_file(1)) == FOREIGN
    assert table.rows() == list(range(20))
    assert table.log.versions() == [0, 1, 2]
    table.assert_tidy()


def test_f9_entries_of_a_dropped_table_refuse_writes_until_they_are_deleted(
    table: Table, make: Callable[[], Table]
) -> None:
    dropped = make()
    for version, entry in table.log.entries().items():
        dropped.log.claim(version, entry["tempPath"]["S"], complete=True)
    dropped.log.claim(5000, complete=True)
    with pytest.raises(PySparkException, match="TIDEGATE_LOG_STALE"):
        dropped.create()
    assert dropped.log.versions() == []
    dropped.log.forget()
    dropped.append(0)
    assert dropped.rows() == list(range(10))


def test_f10_a_claim_without_bytes_is_never_called_complete(table: Table) -> None:
    table.log.claim(1, classic(1))
    with pytest.raises(PySparkException, match=r"delete the item 00000000000000000001\.json"):
        table.append(10)
    assert table.log.open_entries() == [1]
    table.log.forget(1)
    table.append(10)
    assert table.rows() == list(range(20))


def test_an_entry_that_names_another_object_publishes_nothing_and_deletes_nothing(table: Table) -> None:
    """All lakes share the table of entries by default, so an entry is data of others."""
    for name in ("precious.json", f"{table.path}/_delta_log/precious.json"):
        table.log.write("precious.json", FOREIGN)
        table.log.claim(1, name)
        with pytest.raises(PySparkException, match=r"TIDEGATE_LOG_INTEGRITY.*precious"):
            table.append(10)
        assert table.log.read("precious.json") == FOREIGN
        assert table.log.versions() == [0]
        table.log.forget(1)
    table.append(10)
    assert table.rows() == list(range(20))


@pytest.mark.parametrize("staged", [classic(1), f"_commit_{uuid.uuid4()}.json.tmp"], ids=["Delta's", "delta-rs's"])
def test_f2_what_a_dead_writer_claimed_is_published_by_the_next_reader(table: Table, staged: str) -> None:
    table.log.write(staged, FOREIGN)
    table.log.claim(1, staged)
    assert table.rows() == list(range(10))
    assert table.log.read(commit_file(1)) == FOREIGN
    table.assert_tidy()


def test_f3_what_a_dead_writer_published_is_completed(table: Table) -> None:
    staged = classic(1)
    table.log.write(staged, FOREIGN)
    table.log.write(commit_file(1), FOREIGN)
    table.log.claim(1, staged)
    table.append(10)
    assert table.rows() == list(range(20))
    table.assert_tidy()


def test_f11_a_foreign_commit_between_claim_and_publication_stays_and_ours_follows(table: Table) -> None:
    """The writer is held after its claim, and a writer without DynamoDB takes the version."""
    with table.append_held(10, "PUT", table.log.publication(1)):
        assert table.log.open_entries() == [1]
        table.log.write(commit_file(1), FOREIGN)
    assert table.log.read(commit_file(1)) == FOREIGN
    assert table.rows() == list(range(20))
    assert table.log.versions() == [0, 1, 2]
    table.assert_tidy()


def test_f11_a_classic_writer_s_lost_commit_keeps_its_bytes(table: Table) -> None:
    staged = classic(1)
    mine = json.dumps({"commitInfo": {"timestamp": 1, "operation": "CLASSIC", "operationParameters": {}}})
    table.log.write(staged, mine)
    table.log.claim(1, staged)
    table.log.write(commit_file(1), FOREIGN)
    lost = table.possibly_lost()
    table.append(10)
    assert table.rows() == list(range(20))
    assert table.log.read(staged) == mine
    assert table.log.read(commit_file(1)) == FOREIGN
    assert table.possibly_lost() == lost + 1
    entry = table.log.entries()[1]
    assert entry["complete"] == {"S": "true"}
    assert "expireTime" not in entry, "the evidence goes with its entry"


def test_f12_the_spelling_that_has_entries_is_used_and_two_are_refused(table: Table, make: Callable[[], Table]) -> None:
    other, twice = make(), make()
    other.log.write(commit_file(0), table.log.read(commit_file(0)))
    other.log.spelled("s3").claim(0, complete=True)
    other.append(10)
    assert other.log.entries() == {}, "the entry is not under the spelling that has entries"
    assert sorted(other.log.spelled("s3").entries()) == [0, 1]
    twice.log.claim(0, complete=True)
    twice.log.spelled("s3").claim(0, complete=True)
    with pytest.raises(PySparkException, match="TIDEGATE_LOG_SPELLING"):
        twice.create()
