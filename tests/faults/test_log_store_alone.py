"""The log store alone, killed, paused, raced and refused (peers' F1, F6, F7 and F13), on AWS's DynamoDB Local."""

from __future__ import annotations

import itertools
import json
import random
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.dynamodb_local import DynamoDbLocal, direct
from tests.faults.client import DEADLINE
from tests.log_store_process import LogStoreProcess
from tidegate.platform.cli import doctor_logs
from tidegate.platform.cli.doctor_logs import LogDoctor
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.fault_proxy import FaultProxy
from tidegate.platform.local.provision import Clients
from tidegate.resources.commit_table import CommitTable
from tidegate.resources.object_store import ObjectStore

pytestmark = pytest.mark.faults

BUCKET = "races"


def file(version: int) -> str:
    return f"{version:020d}.json"


@dataclass
class Arena:
    """A local S3 and DynamoDB, directly and behind a proxy."""

    folder: Path
    aws: LocalAws
    proxy: FaultProxy
    clients: Clients
    closing: ExitStack
    ids: Iterator[int] = field(default_factory=itertools.count)

    def table(self) -> str:
        """The name of a table that nobody had before."""
        return f"t{uuid.uuid4().hex[:8]}"

    def process(self, log: str, **settings: str) -> LogStoreProcess:
        """A process on the logs under this name; its requests pass the proxy."""
        environ = {**self.aws.environ, "AWS_ENDPOINT_URL": self.proxy.endpoint}
        folder = self.folder / f"process-{next(self.ids)}"
        started = LogStoreProcess(folder, f"s3a://{BUCKET}/{log}", environ, **settings)
        return self.closing.enter_context(started)

    def log(self, table: str) -> list[str]:
        """The names in a table's log, in order."""
        pages = self.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{table}/_delta_log/")
        return [item["Key"].partition("_delta_log/")[2] for page in pages for item in page.get("Contents", [])]

    def commits(self, table: str) -> list[str]:
        """The names of a table's commits, in order."""
        return [name for name in self.log(table) if re.fullmatch(r"\d{20}\.json", name)]

    def content(self, table: str, name: str) -> str:
        return (
            self.clients.s3.get_object(Bucket=BUCKET, Key=f"{table}/_delta_log/{name}")["Body"].read().decode().strip()
        )

    def entries(self, table: str) -> list[dict[str, Any]]:
        pages = self.clients.dynamodb.get_paginator("query").paginate(
            TableName="delta_log",
            KeyConditionExpression="tablePath = :p",
            ExpressionAttributeValues={":p": {"S": f"s3a://{BUCKET}/{table}"}},
        )
        return [item for page in pages for item in page["Items"]]


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    with ExitStack() as closing:
        aws = closing.enter_context(LocalAws(tmp_path / "aws", 0))
        dynamodb = closing.enter_context(DynamoDbLocal(tmp_path / "dynamodb"))
        proxy = closing.enter_context(FaultProxy(aws.endpoint, dynamodb.endpoint))
        clients = direct(aws, dynamodb)
        clients.s3.create_bucket(Bucket=BUCKET)
        yield Arena(tmp_path, aws, proxy, clients, closing)


def test_f1_what_was_staged_and_not_claimed_is_nothing_and_is_swept(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = arena.table()
    writer, other = (arena.process(f"{table}/_delta_log").wait_ready() for _ in range(2))
    assert writer.ask("write 0 first") == "ack"
    held = arena.proxy.hold("POST", "/PutItem$")
    writer.tell("write 1 lost")
    held.wait_caught(DEADLINE)
    writer.kill()
    assert other.ask("list") == "listed [0]"
    assert len([name for name in arena.log(table) if ".tmp" in name]) == 1

    assert other.ask("write 1 other") == "ack"
    # The dead writer's claim comes late, as a packet may.
    held.release()
    held.wait_forwarded(DEADLINE)
    assert held.forwarded == [400]

    assert other.ask("read 1") == "read other"
    doctor = LogDoctor(ObjectStore(arena.clients.s3), CommitTable(arena.clients.dynamodb, "delta_log"), grace=0)
    assert doctor.sweep(f"s3a://{BUCKET}/{table}") == 0
    monkeypatch.setattr(doctor_logs, "SAFE_AGE", -1)
    assert doctor.sweep(f"s3a://{BUCKET}/{table}") == 1
    assert arena.log(table) == [file(0), file(1)]


def test_f6_eight_recoverers_and_a_paused_writer_publish_the_same_bytes_once(arena: Arena) -> None:
    table = arena.table()
    writer, *readers = [arena.process(f"{table}/_delta_log") for _ in range(9)]
    for process in (writer, *readers):
        process.wait_ready(DEADLINE)
    assert writer.ask("write 0 first") == "ack"
    held = arena.proxy.hold("PUT", f"{table}/_delta_log/{file(1)}$")
    published = arena.proxy.count("PUT", f"{table}/_delta_log/{file(1)}$")
    completed = arena.proxy.count("POST", "/UpdateItem$")
    writer.tell("write 1 slow")
    held.wait_caught(DEADLINE)
    writer.pause()

    for reader in readers:
        reader.tell("list")
    assert {reader.answer(DEADLINE) for reader in readers} == {"listed [0, 1]"}
    held.release()
    held.wait_forwarded(DEADLINE)
    writer.resume()

    assert writer.answer(DEADLINE) == "ack", "the writer took what others published of it for another's"
    assert {reader.ask("read 1") for reader in readers} == {"read slow"}
    assert published.forwarded.count(200) == 1
    assert completed.forwarded.count(200) == 1
    assert arena.log(table) == [file(0), file(1)]
    assert {entry["complete"]["S"] for entry in arena.entries(table)} == {"true"}


def refusal(kind: str) -> bytes:
    """What DynamoDB answers with status 400."""
    return json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{kind}", "message": "refused"}).encode()


def test_f7_throttling_is_waited_out(arena: Arena) -> None:
    table = arena.table()
    writer = arena.process(f"{table}/_delta_log").wait_ready()
    assert writer.ask("write 0 first") == "ack"
    throttled = [
        arena.proxy.status(
            "POST", f"/{operation}$", 400, times=3, body=refusal("ProvisionedThroughputExceededException")
        )
        for operation in ("PutItem", "UpdateItem")
    ]
    assert writer.ask("write 1 second") == "ack"
    assert [rule.count for rule in throttled] == [3, 3]
    assert {entry["complete"]["S"] for entry in arena.entries(table)} == {"true"}


@pytest.mark.parametrize("operation", ["CreateTable", "Query", "PutItem"])
def test_a_missing_permission_is_named(arena: Arena, operation: str) -> None:
    table = arena.table()
    arena.proxy.status("POST", f"/{operation}$", 400, times=None, body=refusal("AccessDeniedException"))
    said = arena.process(f"{table}/_delta_log").wait_ready().ask("write 0 first")
    assert re.match(rf"failed .*the permission dynamodb:{operation} on table delta_log .*is missing", said), said
    assert arena.commits(table) == []


def test_a_missing_table_is_not_made_when_that_is_forbidden(arena: Arena) -> None:
    table = arena.table()
    said = arena.process(f"{table}/_delta_log", ddb_create="false").wait_ready().ask("write 0 first")
    assert re.match(r"failed .*there is no DynamoDB table delta_log.*ddb\.create=false forbids to create it", said), (
        said
    )
    assert arena.clients.dynamodb.list_tables()["TableNames"] == []
    assert arena.commits(table) == []


@dataclass(frozen=True)
class Scale:
    """How long a race goes on, in commits per table, and how often it is disturbed."""

    tables: int
    writers: int
    commits: int
    kills: int
    pauses: int
    deadline: int


SHORT = Scale(tables=2, writers=4, commits=150, kills=5, pauses=5, deadline=300)
LONG = Scale(tables=3, writers=5, commits=500, kills=80, pauses=80, deadline=7200)


@dataclass(frozen=True)
class Attempt:
    """One attempt to commit: when it began, what came of it ("" when its writer died) and when."""

    table: str
    version: int
    content: str
    begun: int
    outcome: str = ""
    ended: int = 0

    @property
    def writer(self) -> str:
        return self.content.partition("/")[0]


@pytest.mark.timeout(9000)
def test_f13_what_was_acknowledged_is_there_once_and_in_order(arena: Arena, request: pytest.FixtureRequest) -> None:
    scale = LONG if request.config.getoption("--soak") else SHORT
    seed = request.config.getoption("--seed")
    root = arena.table()
    tables = [f"{root}{i}" for i in range(scale.tables)]
    with Foreign(arena, tables, scale.commits) as foreign:
        lives = _race(arena, root, scale, random.Random(seed))
    for table in tables:
        settling = arena.process(f"{table}/_delta_log").wait_ready(DEADLINE)
        assert settling.ask("list") == f"listed {list(range(scale.commits))}", f"seed {seed}"
        settling.kill()

    attempts = {one.content: one for said in lives for one in _attempts(said, root)} | foreign.attempts
    for table in tables:
        _check(arena, table, {k: v for k, v in attempts.items() if v.table == table}, foreign, f"seed {seed}, {table}")
    outcomes = Counter((one.writer, one.outcome) for one in attempts.values())
    print(f"seed {seed}: {dict(Counter(one.outcome or 'killed' for one in attempts.values()))}")
    for writer in {one.writer for one in attempts.values()}:
        assert outcomes[writer, "exists"], f"seed {seed}: {writer} never lost a race: {outcomes}"


def _race(arena: Arena, root: str, scale: Scale, rng: random.Random) -> list[list[str]]:
    """Race writers, killing and pausing them; what each of their lives said."""
    command = f"race {scale.tables} {scale.commits} {{}} {scale.deadline}"

    def born(i: int, life: int) -> LogStoreProcess:
        process = arena.process(root)
        process.tell(command.format(f"writer{i}/{life}"))
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


def _attempts(said: list[str], root: str) -> Iterator[Attempt]:
    tried: dict[str, Attempt] = {}
    for line in said:
        kind, _, rest = line.partition(" ")
        if kind in ("ready", "done"):
            continue
        moment, table, version, content = rest.split(" ")[:4]
        if kind == "try":
            tried[content] = Attempt(root + table, int(version), content, int(moment))
        else:
            one = tried[content]
            tried[content] = Attempt(one.table, one.version, content, one.begun, kind, int(moment))
    yield from tried.values()


class Foreign:
    """A writer that knows nothing of DynamoDB and creates commits conditionally; it reads each as soon as it is there.

    Attributes:
        attempts: its own, by content.
        seen: what it found when it first looked, by table and version.
    """

    def __init__(self, arena: Arena, tables: list[str], commits: int) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.seen: dict[tuple[str, int], str] = {}
        self._arena, self._tables, self._commits = arena, tables, commits
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
                self._step(self._tables[n % len(self._tables)], n)
        except BaseException as error:
            self._failed = error

    def _step(self, table: str, n: int) -> None:
        names = self._arena.commits(table)
        for version, name in enumerate(names):
            if (table, version) not in self.seen:
                self.seen[table, version] = self._arena.content(table, name)
        # Its first commit would be a table that others believe new.
        if 0 < len(names) < self._commits:
            self._commit(table, len(names), f"foreign/0:{n}")

    def _commit(self, table: str, version: int, content: str) -> None:
        begun, outcome = time.monotonic_ns(), "ack"
        try:
            self._arena.clients.s3.put_object(
                Bucket=BUCKET, Key=f"{table}/_delta_log/{file(version)}", Body=f"{content}\n".encode(), IfNoneMatch="*"
            )
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 412:
                raise
            outcome = "exists"
        self.attempts[content] = Attempt(table, version, content, begun, outcome, time.monotonic_ns())


def _check(arena: Arena, table: str, attempts: dict[str, Attempt], foreign: Foreign, where: str) -> None:
    names = arena.commits(table)
    assert names == [file(version) for version in range(len(names))], where
    contents = [arena.content(table, name) for name in names]
    assert len(set(contents)) == len(contents), f"{where}: a commit is there twice"
    for version, content in enumerate(contents):
        one = attempts[content]
        assert one.version == version, f"{where}: {one} is version {version}"
        assert one.outcome in ("ack", "unknown", ""), f"{where}: {one} is there"
        assert foreign.seen.get((table, version), content) == content, f"{where}: version {version} changed"
    for one in attempts.values():
        if one.outcome == "ack":
            assert contents[one.version] == one.content, f"{where}: {one} is not there"
    acknowledged = sorted((one for one in attempts.values() if one.outcome == "ack"), key=lambda one: one.version)
    latest = 0
    for one in acknowledged:
        assert one.ended > latest, f"{where}: {one} was acknowledged before an earlier version began"
        latest = max(latest, one.begun)
    # Only the newest entry keeps anybody waiting. A writer that was killed after others had published its version, or
    # one of theirs in its place, may leave an older one open.
    *older, newest = sorted(arena.entries(table), key=lambda entry: entry["fileName"]["S"])
    assert newest["complete"]["S"] == "true", where
    open_ones = [entry for entry in older if entry["complete"]["S"] != "true"]
    killed = [one for one in attempts.values() if not one.outcome]
    assert len(open_ones) <= len(killed), f"{where}: {open_ones}, {killed}"
