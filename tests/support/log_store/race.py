"""Races of log stores for the versions of several tables, and what must hold of their logs afterwards."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from botocore.exceptions import ClientError

from tests.support.log_store.arena import Arena
from tests.support.log_store.delta_log import DeltaLog, commit_file
from tests.support.log_store.log_store_process import LogStoreProcess
from tests.support.servers.client import DEADLINE
from tidegate.platform.cli.commands.doctor_logs import LogDoctor
from tidegate.platform.local.spark.server_settings import LOG_STORE


@dataclass(frozen=True)
class Scale:
    """How long a race lasts, in commits per table, and how often it is disturbed."""

    tables: int
    writers: int
    commits: int
    kills: int
    pauses: int
    deadline: int


SHORT = Scale(tables=2, writers=4, commits=100, kills=5, pauses=5, deadline=300)
LONG = Scale(tables=3, writers=5, commits=500, kills=80, pauses=80, deadline=7200)


@dataclass(frozen=True)
class Attempt:
    """One attempt to commit: its start, its result ("" if its writer died) and its end."""

    table: str
    version: int
    content: str
    begun: int
    outcome: str = ""
    ended: int = 0

    @property
    def writer(self) -> str:
        return self.content.partition("/")[0]


def race(
    arena: Arena,
    root: str,
    scale: Scale,
    rng: random.Random,
    store: str = LOG_STORE,
) -> list[list[str]]:
    """Race writers, and kill and pause them. Returns what each of their processes reported.

    Args:
        root: how the addresses of the tables begin.
        scale: how long it lasts.
        rng: what happens to whom, and when.
        store: class of the log store of all writers.
    """
    command = f"race {scale.tables} {scale.commits} {{}} {scale.deadline}"

    def born(i: int, life: int) -> LogStoreProcess:
        process = arena.process(root, store=store)
        process.send_line(command.format(f"writer{i}/{life}"))
        return process

    lives = [[born(i, 0)] for i in range(scale.writers)]
    for life in lives:
        life[0].wait_ready(DEADLINE)
    disturbances = ["kill"] * scale.kills + ["pause"] * scale.pauses
    rng.shuffle(disturbances)
    end = time.monotonic() + scale.deadline
    while any(life[-1].lines()[-1:] != ["done"] for life in lives):
        assert time.monotonic() < end, "the race did not end"
        time.sleep(rng.uniform(0.1, 1.0))
        i = rng.randrange(scale.writers)
        process = lives[i][-1]
        if not disturbances or process.lines()[-1:] in ([], ["ready"], ["done"]):
            assert process.alive, process.errors()
        elif disturbances.pop() == "kill":
            process.kill()
            lives[i].append(born(i, len(lives[i])))
        else:
            process.pause()
            time.sleep(rng.uniform(0.1, 1.5))
            process.resume()
    assert not disturbances, f"the race was over before {len(disturbances)} kills and pauses"
    return [process.lines() for life in lives for process in life]


def attempts_of(said: list[str], root: str) -> Iterator[Attempt]:
    tried: dict[str, Attempt] = {}
    for line in said:
        kind, _, rest = line.partition(" ")
        if kind in ("ready", "done"):
            continue
        moment, table, version, content = rest.split(" ")[:4]
        if kind == "try":
            tried[content] = Attempt(root + table, int(version), content, int(moment))
        else:
            attempt = tried[content]
            tried[content] = Attempt(attempt.table, attempt.version, content, attempt.begun, kind, int(moment))
    yield from tried.values()


class Foreign:
    """A writer without DynamoDB that creates commits conditionally. It reads each commit as soon as it exists.

    Attributes:
        attempts: its own attempts, by content.
        seen: the first content that it read, by table and version.
    """

    def __init__(self, logs: list[DeltaLog], commits: int) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.seen: dict[tuple[str, int], str] = {}
        self._logs, self._commits = logs, commits
        self._over = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Foreign:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(DEADLINE)
        if self._failed:
            raise self._failed

    def _run(self) -> None:
        try:
            for n in itertools.count():
                if self._over.wait(0.4):
                    return
                self._step(self._logs[n % len(self._logs)], n)
        except BaseException as error:
            self._failed = error

    def _step(self, log: DeltaLog, n: int) -> None:
        versions = log.versions()
        for version in versions:
            if (log.location, version) not in self.seen:
                self.seen[log.location, version] = log.read(commit_file(version)).strip()
        # Its first commit would create a table that other writers believe to be new.
        if 0 < len(versions) < self._commits:
            self._commit(log, len(versions), f"foreign/0:{n}")

    def _commit(self, log: DeltaLog, version: int, content: str) -> None:
        begun, outcome = time.monotonic_ns(), "ack"
        try:
            log.create(version, f"{content}\n")
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 412:
                raise
            outcome = "exists"
        self.attempts[content] = Attempt(log.location, version, content, begun, outcome, time.monotonic_ns())


def check_log(log: DeltaLog, attempts: list[Attempt], foreign: Foreign, where: str) -> None:
    versions = log.versions()
    assert versions == list(range(len(versions))), where
    contents = [log.read(commit_file(version)).strip() for version in versions]
    assert len(set(contents)) == len(contents), f"{where}: a commit is there twice"
    by_content = {attempt.content: attempt for attempt in attempts}
    for version, content in enumerate(contents):
        item = by_content[content]
        assert item.version == version, f"{where}: {item} is version {version}"
        assert item.outcome in ("ack", "unknown", ""), f"{where}: {item} is there"
        assert foreign.seen.get((log.location, version), content) == content, f"{where}: version {version} changed"
    acknowledged = sorted(
        (attempt for attempt in attempts if attempt.outcome == "ack"), key=lambda attempt: attempt.version
    )
    latest = 0
    for attempt in acknowledged:
        assert contents[attempt.version] == attempt.content, f"{where}: {attempt} is not there"
        assert attempt.ended > latest, f"{where}: {attempt} was acknowledged before an earlier version began"
        latest = max(latest, attempt.begun)


def check_entries(log: DeltaLog, attempts: list[Attempt], doctor: LogDoctor, where: str) -> None:
    """Check that at most the entries of killed writers are open. Only the newest entry delays anybody.

    Such a claim came late, after a writer without DynamoDB had taken the version and one of ours the next version.
    """
    still_open = log.open_entries()
    assert max(log.entries()) not in still_open, where
    assert set(still_open) <= {attempt.version for attempt in attempts if not attempt.outcome}, where
    assert doctor.close(log.location) == len(still_open), where
    assert log.open_entries() == [], where
