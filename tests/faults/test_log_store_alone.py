"""The log store alone, killed, paused, raced and refused (docs/internals/faults.md: F1 to F3, F6 to F8, F13)."""

from __future__ import annotations

import random
import re
import time
import uuid
from collections import Counter

import pytest

from tests.support.log_store.arena import Arena, refusal
from tests.support.log_store.delta_log import ENTRIES, DeltaLog, commit_file
from tests.support.log_store.log_store_process import CONDITIONAL
from tests.support.log_store.race import LONG, SHORT, Foreign, attempts_of, check_entries, check_log, race
from tests.support.servers.client import DEADLINE
from tests.support.servers.fault_rules import Rule
from tidegate.platform.cli.commands import doctor_logs as doctor_logs
from tidegate.platform.cli.commands.doctor_logs import LogDoctor
from tidegate.platform.core.config.commits import Commits, log_store_class
from tidegate.platform.lake.aws.commit_table import CommitTable, CommitTableAddress
from tidegate.platform.lake.aws.s3 import ObjectStore

#: Seconds after which a process interrupts its own write, if it is started for that.
INTERRUPTED_AFTER = 1.0


def test_f1_what_was_staged_and_not_claimed_is_nothing_and_is_swept(
    arena: Arena, log: DeltaLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, (other,) = arena.begun_by_a_process(log, others=1)
    held = arena.proxy.hold("POST", "/PutItem$")
    writer.send_line("write 1 lost")
    held.wait_caught(DEADLINE)
    writer.kill()
    assert other.ask("list") == "listed [0]"
    assert len([name for name in log.names() if ".tmp" in name]) == 1

    assert other.ask("write 1 other") == "ack"
    # The dead writer's claim comes late, as a packet may.
    held.release()
    held.wait_forwarded(DEADLINE)
    assert held.forwarded == [400]

    assert other.ask("read 1") == "read other"
    clients = arena.services.clients
    doctor = LogDoctor(ObjectStore(clients.s3), CommitTable(clients.dynamodb, CommitTableAddress(ENTRIES)), grace=0)
    assert doctor.sweep(log.location) == 0
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    assert doctor.sweep(log.location) == 1
    assert log.names() == [commit_file(0), commit_file(1)]


def test_f2_what_a_killed_writer_claimed_is_published_by_the_next_reader(arena: Arena, log: DeltaLog) -> None:
    writer, (other,) = arena.begun_by_a_process(log, others=1)
    held = arena.proxy.hold("PUT", log.publication(1))
    writer.send_line("write 1 claimed")
    held.wait_caught(DEADLINE)
    writer.kill()
    assert log.open_entries() == [1]
    assert other.ask("list") == "listed [0, 1]"
    assert other.ask("read 1") == "read claimed"
    held.release()
    held.wait_forwarded(DEADLINE)
    assert held.forwarded == [412], "the dead writer's own request published a second time"
    assert log.names() == [commit_file(0), commit_file(1)]
    assert log.open_entries() == []


def test_f3_what_a_killed_writer_published_is_completed_by_the_next_writer(arena: Arena, log: DeltaLog) -> None:
    writer, (other,) = arena.begun_by_a_process(log, others=1)
    held = arena.proxy.hold("POST", "/UpdateItem$")
    writer.send_line("write 1 published")
    held.wait_caught(DEADLINE)
    writer.kill()
    assert log.versions() == [0, 1]
    assert log.open_entries() == [1]
    assert other.ask("write 2 next") == "ack"
    assert log.open_entries() == []
    held.release()
    held.wait_forwarded(DEADLINE)
    assert held.forwarded == [400], "the dead writer completed an entry that was complete"
    assert [other.ask(f"read {n}") for n in range(3)] == ["read first", "read published", "read next"]


def test_f6_eight_recoverers_and_a_paused_writer_publish_the_same_bytes_once(arena: Arena, log: DeltaLog) -> None:
    writer, readers = arena.begun_by_a_process(log, others=8)
    held = arena.proxy.hold("PUT", log.publication(1))
    published = arena.proxy.count("PUT", log.publication(1))
    completed = arena.proxy.count("POST", "/UpdateItem$")
    writer.send_line("write 1 slow")
    held.wait_caught(DEADLINE)
    writer.pause()

    for reader in readers:
        reader.send_line("list")
    assert {reader.answer(DEADLINE) for reader in readers} == {"listed [0, 1]"}
    held.release()
    held.wait_forwarded(DEADLINE)
    writer.resume()

    assert writer.answer(DEADLINE) == "ack", "the writer took what others published of it for another's"
    assert {reader.ask("read 1") for reader in readers} == {"read slow"}
    assert published.forwarded.count(200) == 1
    assert completed.forwarded.count(200) == 1
    assert log.names() == [commit_file(0), commit_file(1)]
    assert log.open_entries() == []


def test_f6_staged_bytes_that_go_while_they_are_read_are_not_an_error_in_the_log(arena: Arena, log: DeltaLog) -> None:
    _, reader = arena.begun(log, others=1)
    staged = f".tmp/{commit_file(1)}.{uuid.uuid4()}"
    log.write(commit_file(1), "published")
    log.write(staged, "published")
    log.claim(1, staged)
    # The bytes exist when they are listed, and are missing when they are fetched.
    gone = arena.proxy.status(
        "GET", log.publication(1, staged=True), 404, times=None, body=b"<Error><Code>NoSuchKey</Code></Error>"
    )
    assert reader.ask("list") == "listed [0, 1]"
    assert gone.count == 1
    assert log.open_entries() == []
    assert commit_file(1) not in arena.host.errors()


@pytest.mark.parametrize("where", ["its claim", "its publication"])
def test_an_interrupted_writer_reports_the_truth_and_continues(where: str, arena: Arena, log: DeltaLog) -> None:
    """The pending request arrives. The writer leaves the following steps to other writers."""
    writer, other = arena.begun(log, others=1)
    held = arena.proxy.hold("POST|PUT", "/PutItem$" if where == "its claim" else log.publication(1))
    writer.send_line("interrupt 1 half")
    held.wait_caught(DEADLINE)
    time.sleep(INTERRUPTED_AFTER + 0.5)
    held.release()
    said = writer.answer(DEADLINE)
    assert re.match(r"interrupted (ack$|unknown .*the outcome of version 1 of \S+ is unknown)", said), said
    assert other.ask("list") == "listed [0, 1]"
    assert other.ask("read 1") == "read half"
    assert writer.ask("write 2 next") == "ack", "the interrupted writer cannot go on"
    assert log.versions() == [0, 1, 2]
    assert log.open_entries() == []


def test_f7_throttling_is_waited_out(arena: Arena, log: DeltaLog) -> None:
    (writer,) = arena.begun(log)
    throttled = [
        arena.proxy.status(
            "POST", f"/{operation}$", 400, times=3, body=refusal("ProvisionedThroughputExceededException")
        )
        for operation in ("PutItem", "UpdateItem")
    ]
    assert writer.ask("write 1 second") == "ack"
    assert [rule.count for rule in throttled] == [3, 3]
    assert log.open_entries() == []


def test_f7_throttled_for_ever_is_a_clear_failure_and_nothing_is_half_done(arena: Arena, log: DeltaLog) -> None:
    (writer,) = arena.begun(log)
    throttled = _throttle_claims(arena)
    said = writer.ask("write 1 second", DEADLINE)
    assert re.match(r"failed .*DynamoDB PutItem on table delta_log .*failed", said), said
    assert throttled.count == 8, "it was not tried as often as it should"
    assert log.names() == [commit_file(0)]
    assert sorted(log.entries()) == [0]
    arena.proxy.clear()
    assert writer.ask("write 1 second") == "ack"


def test_f7_throttling_behind_a_claim_without_an_answer_proves_nothing(arena: Arena, log: DeltaLog) -> None:
    (writer,) = arena.begun(log)
    _throttle_claims(arena)
    arena.proxy.cut("POST", "/PutItem$")
    said = writer.ask("write 1 second", DEADLINE)
    assert re.match(r"unknown .*its claim was not answered, and is not visible, but may arrive late", said), said
    assert len([name for name in log.names() if ".tmp" in name]) == 1, "a late claim would be without bytes"


def _throttle_claims(arena: Arena) -> Rule:
    body = refusal("ProvisionedThroughputExceededException")
    return arena.proxy.status("POST", "/PutItem$", 400, times=None, body=body)


def test_an_s3_that_refuses_for_ever_leaves_the_commit_to_others(arena: Arena, log: DeltaLog) -> None:
    (other,) = arena.begun(log)
    assert other.ask("list") == "listed [0]"
    writer = arena.process(log.location).wait_ready(DEADLINE)
    # Without this limit S3A would be throttled for days.
    assert writer.ask("set fs.s3a.retry.throttle.limit 2") == "set"
    refused = arena.proxy.status("PUT", log.publication(1), 503, times=None)
    said = writer.ask("write 1 second", DEADLINE)
    assert refused.count > 2
    assert re.match(r"unknown .*the outcome of version 1 of \S+ is unknown: its entry is pending", said), said
    assert log.versions() == [0]
    arena.proxy.clear()
    assert other.ask("list") == "listed [0, 1]"
    assert other.ask("read 1") == "read second"
    assert log.open_entries() == []


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (200, r"let 5 of 5 conditional creates of one object succeed"),
        (403, r"cannot prove that"),
    ],
    ids=["an endpoint that ignores the condition", "a probe that is refused"],
)
def test_nothing_is_claimed_before_the_endpoint_is_proven(status: int, why: str, arena: Arena, log: DeltaLog) -> None:
    arena.proxy.status("PUT", "/_tidegate_probe", status, times=None)
    said = arena.process(log.location).wait_ready().ask("write 0 first", DEADLINE)
    assert re.match(rf"failed .*{why}", said), said
    assert log.names() == []
    assert log.entries() == {}


def test_without_dynamodb_one_of_two_writers_wins_a_version_and_knows_it(arena: Arena, log: DeltaLog) -> None:
    """`ConditionalS3LogStore` through real HTTP: the class for users who want no DynamoDB table."""
    first, second = (arena.store(log.location, store=CONDITIONAL).wait_ready() for _ in range(2))
    entries = arena.proxy.count("POST", "/(PutItem|UpdateItem)$")
    assert first.ask("write 0 birth") == "ack"
    assert second.ask("write 0 mine") == "exists"
    dropped = arena.proxy.drop_reply("PUT", log.publication(1))
    assert second.ask("write 1 second") == "ack"
    assert dropped.count == 1
    arena.proxy.status("PUT", log.publication(2), 412)
    said = first.ask("write 2 third")
    assert re.match("unknown .*outcome of version 2 of .*refused as if it were there, and is not there", said), said
    assert re.match(r"failed \[TIDEGATE_LOG_INTEGRITY\] version 9 of ", first.ask("write 9 late"))
    assert [first.ask(f"read {version}") for version in (0, 1)] == ["read birth", "read second"]
    assert entries.count == 0


def test_f8_a_commit_whose_entry_has_expired_is_not_made_twice(arena: Arena, log: DeltaLog) -> None:
    """A writer that slept for longer than the TTL claims a version whose entry has expired."""
    writer, other = arena.begun(log, others=1)
    held = arena.proxy.hold("POST", "/PutItem$")
    writer.send_line("write 1 late")
    held.wait_caught(DEADLINE)
    assert other.ask("write 1 other") == "ack"
    log.forget(1)
    held.release()
    assert writer.answer(DEADLINE) == "exists"
    assert other.ask("read 1") == "read other"
    assert log.open_entries() == []


def test_a_refusal_without_a_file_is_unknown_and_others_settle_it(arena: Arena, log: DeltaLog) -> None:
    """S3 answers 412 although no file exists. With the answer "exists", Delta would retry for ever."""
    writer, other = arena.begun(log, others=1)
    arena.proxy.status("PUT", log.publication(1), 412)
    said = writer.ask("write 1 refused")
    assert re.match(r"unknown .*outcome of version 1 of \S+ is unknown: its entry is pending", said), said
    assert other.ask("list") == "listed [0, 1]"
    assert other.ask("read 1") == "read refused"
    assert log.open_entries() == []


@pytest.mark.timeout(9000)
def test_f13_what_was_acknowledged_is_there_once_and_in_order(
    arena: Arena, log: DeltaLog, soak: bool, seed: int, commits: Commits
) -> None:
    scale = LONG if soak else SHORT
    clients = arena.services.clients
    logs = [DeltaLog(clients, f"{log.location}{i}") for i in range(scale.tables)]
    with Foreign(logs, scale.commits) as foreign:
        lives = race(arena, log.location, scale, random.Random(seed), log_store_class(commits))
    for table_log in logs:
        settling = arena.store(table_log.location).wait_ready()
        assert settling.ask("list", DEADLINE) == f"listed {list(range(scale.commits))}", f"seed {seed}"

    attempts = {
        attempt.content: attempt for said in lives for attempt in attempts_of(said, log.location)
    } | foreign.attempts
    doctor = LogDoctor(ObjectStore(clients.s3), CommitTable(clients.dynamodb, CommitTableAddress(ENTRIES)), grace=0)
    for table_log in logs:
        where = f"seed {seed}, {table_log.location}"
        tried = [attempt for attempt in attempts.values() if attempt.table == table_log.location]
        check_log(table_log, tried, foreign, where)
        if commits == "dynamodb":
            check_entries(table_log, tried, doctor, where)
    outcomes = Counter((attempt.writer, attempt.outcome) for attempt in attempts.values())
    print(f"seed {seed}: {dict(Counter(attempt.outcome or 'killed' for attempt in attempts.values()))}")
    for writer in {attempt.writer for attempt in attempts.values()}:
        assert outcomes[writer, "exists"], f"seed {seed}: {writer} never lost a race: {outcomes}"
