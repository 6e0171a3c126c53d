"""A lake moves between its two log stores while its writers work, and some of them are killed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from tests.support.log_store.arena import Arena
from tests.support.log_store.delta_log import ENTRIES, DeltaLog, commit_file
from tests.support.log_store.log_store_process import CONDITIONAL, HostedStore, LogStoreProcess
from tests.support.log_store.race import Foreign, Scale, attempts_of, check_entries, check_log
from tests.support.servers.client import DEADLINE
from tests.support.servers.fault_rules import Hold
from tidegate.platform.cli.commands.commits_migrate import TableMigration
from tidegate.platform.cli.commands.doctor_logs import LogDoctor
from tidegate.platform.lake.aws.commit_table import CommitTable, CommitTableAddress
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.local.spark.server_settings import LOG_STORE

LOAD = Scale(tables=2, writers=3, commits=90, kills=0, pauses=0, deadline=300)


class Moving:
    """What `tidegate commits migrate` does with each table. A log store has the part of the server's procedure."""

    def __init__(self, arena: Arena, *logs: DeltaLog, used: bool = False) -> None:
        clients = arena.services.clients
        table = CommitTable(clients.dynamodb, CommitTableAddress(ENTRIES))
        self.doctor = LogDoctor(ObjectStore(clients.s3), table, used=used)
        self._stores = {log.location: arena.store(log.location) for log in logs}
        self.tables = TableMigration(self.doctor, self._settle)
        for store in self._stores.values():
            store.wait_ready(DEADLINE)

    def _settle(self, location: str) -> None:
        said = self._stores[location].ask("list", DEADLINE)
        assert said.startswith("listed "), said

    def prepare(self) -> None:
        for location in self._stores:
            review = self.tables.prepare(location)
            assert (review.problem, review.kept) == ("", ""), location


@pytest.fixture
def conditional(arena: Arena, log: DeltaLog) -> HostedStore:
    return arena.store(log.location, store=CONDITIONAL).wait_ready(DEADLINE)


def claimed_and_killed(arena: Arena, log: DeltaLog) -> Hold:
    """Let a writer with entries commit version 0, claim version 1 and die. Its publication is still on its way."""
    writer = arena.process(log.location).wait_ready(DEADLINE)
    assert writer.ask("write 0 first") == "ack"
    held = arena.proxy.hold("PUT", log.publication(1))
    writer.send_line("write 1 claimed")
    held.wait_caught(DEADLINE)
    writer.kill()
    assert log.open_entries() == [1]
    return held


def arrive_late(held: Hold) -> None:
    """Let the publication of the dead writer arrive. It must not publish anything."""
    held.release()
    held.wait_forwarded(DEADLINE)
    assert held.forwarded == [412]


def test_what_a_dead_writer_claimed_is_published_before_the_lake_leaves_dynamodb(
    arena: Arena, log: DeltaLog, conditional: HostedStore
) -> None:
    held = claimed_and_killed(arena, log)
    # A store without entries does not see the claim.
    assert conditional.ask("list") == "listed [0]"
    Moving(arena, log).prepare()
    assert log.open_entries() == []
    assert conditional.ask("list") == "listed [0, 1]"
    assert conditional.ask("read 1") == "read claimed"
    assert conditional.ask("write 1 mine") == "exists"
    assert conditional.ask("write 2 next") == "ack"
    arrive_late(held)


def test_a_claim_that_was_overtaken_is_closed_and_its_version_stays(
    arena: Arena, log: DeltaLog, conditional: HostedStore
) -> None:
    held = claimed_and_killed(arena, log)
    assert conditional.ask("write 1 faster") == "ack"
    assert conditional.ask("write 2 next") == "ack"
    Moving(arena, log).prepare()
    assert log.open_entries() == []
    arrive_late(held)
    assert log.names() == [commit_file(n) for n in range(3)]
    assert [conditional.ask(f"read {n}") for n in range(3)] == ["read first", "read faster", "read next"]


def test_entries_far_below_the_head_do_no_harm_after_the_way_back(
    arena: Arena, log: DeltaLog, conditional: HostedStore
) -> None:
    held = claimed_and_killed(arena, log)
    for version in range(1, 6):
        assert conditional.ask(f"write {version} c{version}") == "ack"
    # Nobody prepared anything: the open entry of version 1 is the newest one.
    back = arena.store(log.location).wait_ready(DEADLINE)
    assert back.ask("list") == "listed [0, 1, 2, 3, 4, 5]"
    assert back.ask("write 6 back") == "ack"
    assert log.open_entries() == []
    arrive_late(held)
    contents = ["first", *(f"c{version}" for version in range(1, 6)), "back"]
    assert [conditional.ask(f"read {version}") for version in range(7)] == [f"read {text}" for text in contents]
    Moving(arena, log, used=True).prepare()


@pytest.mark.timeout(600)
@pytest.mark.seeds(1, 8)
def test_a_lake_moves_to_s3_and_back_while_its_writers_work(arena: Arena, log: DeltaLog, seed: int) -> None:
    rng = random.Random(seed)
    logs = [DeltaLog(arena.services.clients, f"{log.location}{i}") for i in range(LOAD.tables)]
    moving = Moving(arena, *logs)
    lives: list[list[LogStoreProcess]] = [[] for _ in range(LOAD.writers)]
    names = iter(range(1000))

    def born(writer: int, store: str) -> None:
        process = arena.process(log.location, store=store)
        process.send_line(f"race {LOAD.tables} {LOAD.commits} writer{writer}/{next(names)} {LOAD.deadline}")
        lives[writer].append(process)

    def await_commits(more: int) -> None:
        wanted = [len(each.versions()) + more for each in logs]
        end = time.monotonic() + LOAD.deadline
        while any(len(each.versions()) < least for each, least in zip(logs, wanted, strict=True)):
            assert time.monotonic() < end, "the writers do not go on"
            assert all(life[-1].alive for life in lives), [life[-1].errors() for life in lives]
            time.sleep(0.1)

    with Foreign(logs, LOAD.commits) as foreign:
        for writer in range(LOAD.writers):
            born(writer, LOG_STORE)
        await_commits(5)
        for store in (CONDITIONAL, LOG_STORE):
            moving.prepare()
            for writer in rng.sample(range(LOAD.writers), LOAD.writers):
                time.sleep(rng.uniform(0, 0.5))
                lives[writer][-1].kill()
                born(writer, store)
                await_commits(3)
            moving.prepare()
            if store == CONDITIONAL:
                assert [each.open_entries() for each in logs] == [[]] * len(logs)
                newest = [max(each.entries()) for each in logs]
                await_commits(5)
                assert [max(each.entries()) for each in logs] == newest, "a commit still went through DynamoDB"
        _await(lambda: all(life[-1].lines()[-1:] == ["done"] for life in lives))
    moving.prepare()

    said = [process.lines() for life in lives for process in life]
    attempts = {each.content: each for lines in said for each in attempts_of(lines, log.location)} | foreign.attempts
    for each in logs:
        where = f"seed {seed}, {each.location}"
        tried = [attempt for attempt in attempts.values() if attempt.table == each.location]
        assert each.versions() == list(range(LOAD.commits)), where
        check_log(each, tried, foreign, where)
        check_entries(each, tried, moving.doctor, where)
        entries = set(each.entries())
        assert entries < set(range(LOAD.commits)), f"{where}: no commit went without DynamoDB"
        assert max(entries) > min(set(range(LOAD.commits)) - entries), f"{where}: none came back to DynamoDB"


def _await(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LOAD.deadline
    while not holds():
        assert time.monotonic() < end, "the race did not end"
        time.sleep(0.1)
