"""The log store with a missing or different DynamoDB, and with a path in several spellings.

docs/internals/faults.md: F7 and F12.
"""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.log_store.arena import Arena, refusal
from tests.support.log_store.delta_log import DeltaLog, commit_file
from tests.support.servers.client import DEADLINE
from tests.support.servers.dynamodb_local import DynamoDbLocal
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.local.process.ports import LOOPBACK, free_port


@pytest.mark.parametrize("operation", ["CreateTable", "Query", "PutItem"])
def test_a_missing_permission_is_named(arena: Arena, log: DeltaLog, operation: str) -> None:
    entries = f"entries-{operation}"
    arena.proxy.status("POST", f"/{operation}$", 400, times=None, body=refusal("AccessDeniedException"))
    said = arena.store(log.location, ddb_tableName=entries).wait_ready().ask("write 0 first")
    assert re.match(rf"failed .*the permission dynamodb:{operation} on table {entries} .*is missing", said), said
    assert log.versions() == []


def test_a_missing_table_is_not_made_when_that_is_forbidden(arena: Arena, log: DeltaLog) -> None:
    said = arena.store(log.location, ddb_tableName="absent", ddb_create="false").wait_ready().ask("write 0 first")
    assert re.match(r"failed .*there is no DynamoDB table absent.*ddb\.create=false forbids to create it", said), said
    assert "absent" not in arena.services.clients.dynamodb.list_tables()["TableNames"]
    assert log.versions() == []


def test_f7_an_unreachable_dynamodb_ends_in_a_clear_error_and_nothing_in_the_log(arena: Arena, log: DeltaLog) -> None:
    nobody = f"http://{LOOPBACK}:{free_port()}"
    said = arena.store(log.location, ddb_endpoint=nobody).wait_ready().ask("write 0 first", DEADLINE)
    assert re.match(rf"failed .*DynamoDB DescribeTable on table delta_log in \S+ at {nobody} failed", said), said
    assert log.names() == []
    assert log.entries() == {}


def test_f7_a_dynamodb_that_does_not_answer_stops_everybody_until_it_is_back(arena: Arena, log: DeltaLog) -> None:
    writer, other = arena.begun(log, others=1)
    assert other.ask("list") == "listed [0]"
    claims = arena.proxy.count("POST", "/PutItem$")
    arena.proxy.cut("POST", "/", times=None)
    said = writer.ask("write 1 second", DEADLINE)
    # The writer cannot know whether the claim arrived.
    assert re.match(r"unknown .*the outcome of version 1 of \S+ is unknown", said), said
    assert claims.count == 8, "it was not tried as often as it should"
    assert re.match(r"failed .*DynamoDB Query on table delta_log .*failed", other.ask("list", DEADLINE))
    assert log.versions() == [0]
    arena.proxy.clear()
    assert other.ask("list") == "listed [0]"
    assert writer.ask("write 1 second") == "ack"
    assert log.versions() == [0, 1]
    assert log.open_entries() == []


def test_f7_writers_whose_dynamodb_is_in_different_regions_lose_nothing(
    arena: Arena, log: DeltaLog, tmp_path: Path
) -> None:
    """The writers do not see each other's entries, so only S3's conditional PUT decides between them."""
    with DynamoDbLocal(tmp_path / "regional", regional=True) as regional:
        here, there = (
            arena.store(log.location, ddb_endpoint=regional.endpoint, ddb_region=region).wait_ready()
            for region in ("eu-west-1", "us-east-1")
        )
        assert here.ask("write 0 first") == "ack"
        assert there.ask("write 0 other") == "exists"
        held = arena.proxy.hold("PUT", log.publication(1))
        here.send_line("write 1 slow")
        held.wait_caught(DEADLINE)
        assert there.ask("write 1 quick") == "ack"
        held.release()
        assert here.answer() == "exists"
        assert here.ask("write 2 third") == "ack"
        assert there.ask("list") == "listed [0, 1, 2]"
        assert [there.ask(f"read {version}") for version in range(3)] == ["read first", "read quick", "read third"]


@pytest.mark.parametrize(
    ("folder", "spelled"),
    [
        ("", "s3://{bucket}/{table}"),
        ("", "s3a://somebody@{bucket}/{table}/"),
        ("/day=1%2F2/straße +&'", "s3://{bucket}/{table}/day=1%2F2/straße +&'/"),
    ],
    ids=["s3", "user-info and a slash at its end", "s3 and special characters"],
)
def test_f12_every_spelling_of_a_path_has_the_same_entries(
    arena: Arena, log: DeltaLog, folder: str, spelled: str
) -> None:
    bucket, table = S3Address.parse_s3a(log.location)
    plain = log.below(folder)
    first = arena.store(plain.location).wait_ready()
    other = arena.store(spelled.format(bucket=bucket, table=table)).wait_ready()
    assert first.ask("write 0 first") == "ack"
    held = arena.proxy.hold("PUT", "/_delta_log/0{19}1\\.json")
    first.send_line("write 1 slow")
    held.wait_caught(DEADLINE)
    assert plain.open_entries() == [1]
    assert other.ask("list") == "listed [0, 1]", "the entry that is pending was not found"
    assert other.ask("read 1") == "read slow"
    assert other.ask("write 2 third") == "ack"
    assert sorted(plain.entries()) == [0, 1, 2]
    assert plain.open_entries() == []
    assert plain.versions() == [0, 1, 2]
    held.release()
    assert first.answer() == "ack"


@pytest.mark.parametrize(
    ("folder", "ours", "classic"),
    [
        ("", "s3://{}", "s3://{}"),
        ("", "s3a://{}", "s3://{}"),
        ("/sp ace", "s3a://{}", "s3a://{}"),
        ("/k=ü", "s3a://{}", "s3a://{}"),
    ],
    ids=["s3", "s3 beside s3a", "a blank", "an umlaut"],
)
def test_f12_a_claim_under_another_spelling_is_found_where_there_was_none(
    arena: Arena, log: DeltaLog, folder: str, ours: str, classic: str
) -> None:
    """Our store has checked the spellings, then Delta's store or delta-rs claims. Our commit must not publish."""
    table = log.below(folder)
    place = S3Address.parse_s3a(table.location).bare
    address = classic.format(quote(place, safe="/="))
    theirs = DeltaLog(arena.services.clients, address)
    store = arena.store(ours.format(place)).wait_ready()
    table.create(0, "birth")
    assert store.ask("list") == "listed [0]"
    staged = f".tmp/{commit_file(1)}.{uuid.uuid4()}"
    table.write(staged, "theirs")
    theirs.claim(1, staged)
    assert store.ask("write 1 ours") == "exists"
    assert store.ask("read 1") == "read theirs"
    assert store.ask("write 2 ours") == "ack"
    assert (sorted(theirs.entries()), theirs.open_entries()) == ([1, 2], [])
    assert theirs.entries()[1]["tempPath"]["S"] == staged
    if address != ours.format(place):
        left = DeltaLog(arena.services.clients, ours.format(place))
        assert left.open_entries() == [], "what ours claimed before it gave way is open"
    assert table.names() == [commit_file(version) for version in range(3)]


def test_f12_the_spellings_are_not_compared_with_every_commit(arena: Arena, log: DeltaLog) -> None:
    store = arena.store(log.location).wait_ready()
    assert store.ask("list") == "listed []"
    looks, calls = (
        arena.proxy.count("POST", "/Query$"),
        arena.proxy.count("POST", "/(Query|PutItem|UpdateItem|GetItem)$"),
    )
    assert store.ask("write 0 first") == "ack"
    assert looks.count == 3, "the newest entry, and before and after the first claim the other spelling's"
    before = calls.count
    for version in range(1, 5):
        assert store.ask("list").startswith("listed [0")
        assert store.ask(f"write {version} next") == "ack"
    assert calls.count - before == 4 * 2
