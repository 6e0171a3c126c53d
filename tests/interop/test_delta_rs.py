"""Our log store and delta-rs on one table: 1.6.0, which commits through DynamoDB, and the current, which does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.dynamodb_local import DynamoDbLocal
from tests.faults.test_log_store import direct
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.fault_proxy import FaultProxy
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark_server import SparkServer
from tidegate.resources.spark import session_of_its_own

pytestmark = pytest.mark.interop

BUCKET = "interop"
DEADLINE = 150.0
SCRIPT = Path(__file__).with_name("delta_rs_writer.py")
#: The interpreter that has deltalake 1.6.0, and ours, that has the current one.
CLASSIC = Path(__file__).resolve().parents[2] / ".venv-delta-rs" / "bin" / "python"
CURRENT = Path(sys.executable)
#: Commits that each of the writers gets into a table.
EACH = 12


@dataclass
class DeltaRs:
    """A process that appends by delta-rs."""

    process: subprocess.Popen[bytes]
    outcomes: Path

    def said(self, kind: str) -> list[str]:
        """The rows of one kind of outcome."""
        lines = self.outcomes.read_text().splitlines() if self.outcomes.exists() else []
        return [line.split(" ")[1] for line in lines if line.startswith(f"{kind} ")]

    def finished(self) -> None:
        """Wait for its end, which must be a good one."""
        assert self.process.wait(DEADLINE) == 0, self.outcomes.read_text()


@dataclass
class Shore:
    """A Spark server with our log store; S3 and DynamoDB Local, directly and behind a proxy."""

    folder: Path
    session: SparkSession
    aws: LocalAws
    dynamodb: DynamoDbLocal
    proxy: FaultProxy
    clients: Clients
    closing: ExitStack

    def create(self) -> str:
        """A new table with one column, by Spark; its name."""
        name = f"t{uuid.uuid4().hex[:8]}"
        # Deletion vectors and the like are on by default, and not every delta-rs knows them.
        self.session.sql(
            f"CREATE TABLE delta.`{path(name)}` (id STRING) USING delta "
            "TBLPROPERTIES (delta.enableDeletionVectors = false)"
        ).collect()
        return name

    def options(self, python: Path, *, proxied: bool = False) -> dict[str, str]:
        """delta-rs's storage options."""
        keys = self.aws.environ
        s3 = self.proxy.endpoint if proxied else self.aws.endpoint
        common = {
            "AWS_ACCESS_KEY_ID": keys["AWS_ACCESS_KEY_ID"],
            "AWS_SECRET_ACCESS_KEY": keys["AWS_SECRET_ACCESS_KEY"],
            "AWS_REGION": keys["AWS_REGION"],
            "AWS_ENDPOINT_URL": s3,
            "AWS_ALLOW_HTTP": "true",
        }
        if python == CURRENT:
            return common
        through = {"AWS_S3_LOCKING_PROVIDER": "dynamodb", "DELTA_DYNAMO_TABLE_NAME": "delta_log"}
        return common | through | {"AWS_ENDPOINT_URL_DYNAMODB": self.dynamodb.endpoint}

    def delta_rs(self, python: Path, table: str, name: str, stop: Path, *, proxied: bool = False) -> DeltaRs:
        """Start a writer."""
        assert python.exists(), f"{python} is missing: run `make test`, which makes it"
        options = self.options(python, proxied=proxied)
        clean = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
        outcomes = self.folder / f"outcomes-{table}-{name}"
        with (self.folder / f"errors-{table}-{name}").open("wb") as errors:
            process = subprocess.Popen(
                [str(python), str(SCRIPT), path(table), name, str(stop), str(outcomes)],
                # The DynamoDB client of 1.6.0 reads its settings from the environment alone.
                env=clean | options | {"STORAGE_OPTIONS": json.dumps(options)},
                stderr=errors,
            )
        self.closing.callback(process.wait, 30.0)
        self.closing.callback(process.kill)
        return DeltaRs(process, outcomes)

    def append(self, table: str, row: str) -> None:
        """One row, by Spark."""
        self.session.sql(f"INSERT INTO delta.`{path(table)}` VALUES ('{row}')").collect()

    def commits(self, table: str) -> list[dict[str, Any]]:
        """Each version's commitInfo; the versions have no gap."""
        prefix = f"{table}/_delta_log/"
        pages = self.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        names = [item["Key"] for page in pages for item in page.get("Contents", [])]
        names = [name for name in names if name.count("/") == 2 and name.removeprefix(prefix)[20:] == ".json"]
        assert names == [f"{prefix}{n:020d}.json" for n in range(len(names))]
        bodies = [self.clients.s3.get_object(Bucket=BUCKET, Key=name)["Body"].read() for name in names]
        return [
            next(action["commitInfo"] for action in map(json.loads, body.splitlines()) if "commitInfo" in action)
            for body in bodies
        ]

    def check_rows(self, table: str, *expected: str) -> None:
        """Every reader finds just these rows."""
        spark = self.session.read.format("delta").load(path(table)).collect()
        assert sorted(row["id"] for row in spark) == sorted(expected), "Spark"
        found = DeltaTable(path(table), storage_options=self.options(CURRENT)).to_pyarrow_dataset()
        assert sorted(found.to_table()["id"].to_pylist()) == sorted(expected), "delta-rs"
        assert sorted(row[0] for row in duckdb.sql("SELECT id FROM found").fetchall()) == sorted(expected), "DuckDB"


def path(table: str) -> str:
    return f"s3a://{BUCKET}/{table}"


@pytest.fixture(scope="module")
def shore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shore]:
    folder = tmp_path_factory.mktemp("interop")
    with ExitStack() as closing:
        aws = closing.enter_context(LocalAws(folder / "aws", 0))
        dynamodb = closing.enter_context(DynamoDbLocal(folder / "dynamodb"))
        router = closing.enter_context(FaultProxy(aws.endpoint, dynamodb.endpoint))
        clients = direct(aws, dynamodb)
        clients.s3.create_bucket(Bucket=BUCKET)
        environ = {**aws.environ, "AWS_ENDPOINT_URL": router.endpoint}
        server = SparkServer(folder / "spark", environ, port=0, memory="2g")
        closing.callback(server.stop)
        server.start(DEADLINE)
        session = closing.enter_context(session_of_its_own(server.remote))
        yield Shore(folder, session, aws, dynamodb, router, clients, closing)


@pytest.mark.parametrize("python", [CLASSIC, CURRENT], ids=["1.6.0 with DynamoDB", "current, without"])
def test_every_acknowledged_row_once_whoever_commits(python: Path, shore: Shore) -> None:
    table = shore.create()
    stop = shore.folder / f"stop-{table}"
    others = [shore.delta_rs(python, table, name, stop) for name in ("first", "second")]
    acknowledged = []
    end = time.monotonic() + DEADLINE
    while len(acknowledged) < EACH or any(len(one.said("ack")) < EACH for one in others):
        assert time.monotonic() < end, [one.outcomes.read_text() for one in others]
        row = f"spark-{len(acknowledged)}"
        shore.append(table, row)
        acknowledged.append(row)
    stop.touch()
    for one in others:
        one.finished()
    acknowledged += [row for one in others for row in one.said("ack")]

    shore.check_rows(table, *acknowledged)
    commits = shore.commits(table)
    authors = [commit.get("writer", "spark") for commit in commits]
    assert len(commits) == len(acknowledged) + 1, "an acknowledged row is no commit, or a refused one is"
    changes = sum(one != other for one, other in pairwise(authors))
    assert changes >= 0.2 * len(commits), f"they hardly met: {authors}"
    assert all(one.said("lost") for one in others), "a delta-rs writer never lost a race"
    behind = [n for n, commit in enumerate(commits) if n and commit.get("readVersion", n - 1) < n - 1]
    assert behind, "Spark never lost a race"
    assert {one.said("version")[0] for one in others} == {"1.6.0" if python == CLASSIC else version("deltalake")}


def test_what_a_killed_delta_rs_claimed_is_published_by_ours(shore: Shore) -> None:
    table = shore.create()
    copied = shore.proxy.hold("PUT", f"{table}/_delta_log/{1:020d}\\.json")
    writer = shore.delta_rs(CLASSIC, table, "killed", shore.folder / f"stop-{table}", proxied=True)
    copied.wait_caught(DEADLINE)
    writer.process.kill()
    writer.process.wait(DEADLINE)

    shore.append(table, "ours")

    shore.check_rows(table, "killed-0", "ours")
    copied.release()
    copied.wait_forwarded(DEADLINE)
    assert [one.get("writer", "spark") for one in shore.commits(table)] == ["spark", "killed", "spark"]
    assert not writer.said("ack")


def test_what_ours_claimed_and_did_not_publish_is_published_by_delta_rs_1_6_0(shore: Shore) -> None:
    table = shore.create()
    held = shore.proxy.hold("PUT", f"{table}/_delta_log/{1:020d}\\.json$")
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(shore.append, table, "ours")
        held.wait_caught(DEADLINE)
        stop = shore.folder / f"stop-{table}"
        other = shore.delta_rs(CLASSIC, table, "other", stop)
        end = time.monotonic() + DEADLINE
        while not other.said("ack"):
            assert time.monotonic() < end, other.outcomes.read_text()
            time.sleep(0.1)
        stop.touch()
        other.finished()
        held.release()
        writing.result(DEADLINE)
    assert held.forwarded == [412]
    shore.check_rows(table, "ours", *other.said("ack"))
    assert [one.get("writer", "spark") for one in shore.commits(table)][:2] == ["spark", "spark"]
