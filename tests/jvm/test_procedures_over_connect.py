"""The procedures and the log store as runs use them: over Spark Connect, on S3, with all performance flags."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from tidegate.platform.lake.spark.remote import SparkRemote
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.local.stack import LocalStack

BUCKET = "jvm"
LAKE = "lake-1"
SCHEMA = {
    "type": "struct",
    "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}],
}


def literal(value: object) -> str:
    """Return a SQL literal: CALL takes no parameters, and `${…}` in a SQL text is substituted."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value).replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{text}'"


@dataclass
class Table:
    """A table in S3, its batches, and the procedures on it."""

    spark: SparkSession
    s3: Any
    prefix: str = field(default_factory=lambda: f"t{uuid.uuid4().hex}")

    @property
    def uri(self) -> str:
        return f"s3a://{BUCKET}/{self.prefix}"

    @property
    def key(self) -> str:
        return f"{BUCKET}.{self.prefix}"

    @property
    def app_id(self) -> str:
        return f"tidegate:{LAKE}:{self.key}:gen-1"

    def call(self, name: str, **values: object) -> list[Row]:
        given = ", ".join(f"{key} => {literal(value)}" for key, value in values.items())
        return self.spark.sql(f"CALL tidegate.system.{name}({given})").collect()

    def put(self, path: str, ids: range) -> dict[str, Any]:
        """Put a Parquet object with these ids. Returns its add entry."""
        body = io.BytesIO()
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), body)
        key = f"{self.prefix}/{path}"
        etag = self.s3.put_object(Bucket=BUCKET, Key=key, Body=body.getvalue())["ETag"]
        return {
            "path": path,
            "partition_values": {},
            "size": len(body.getvalue()),
            "modification_time": 1_700_000_000_000,
            "stats": json.dumps({"numRecords": len(ids)}),
            "etag": etag,
            "source_key": key,
        }

    def land(self, n: int, after: int, adds: list[dict[str, Any]], **changes: Any) -> Row:
        batch = {
            "format": 1,
            "lake": LAKE,
            "table": self.key,
            "generation": "gen-1",
            "n": n,
            "digest": f"digest-{n}",
            "location": self.uri,
            "app_id": self.app_id,
            "create": None,
            "after_version": after,
            "adds": adds,
            "removes": [],
        }
        key = f"lake/batches/{self.key}/{n:020d}.json"
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(batch | changes).encode())
        uri = f"s3a://{BUCKET}/{key}"
        return self.call("add_files", table=self.uri, batch=uri, verify_files=True)[0]

    def born(self) -> Row:
        create = {"schema": SCHEMA, "partition_columns": [], "properties": {}, "name": "t"}
        return self.land(1, -1, [self.put("a.parquet", range(10))], create=create)

    def state(self) -> Row:
        return self.call("table_state", table=self.uri, app_id=self.app_id)[0]

    def ids(self) -> list[int]:
        return sorted(row.id for row in self.spark.read.format("delta").load(self.uri).collect())

    def objects(self) -> list[str]:
        found = self.s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{self.prefix}/").get("Contents", [])
        return [entry["Key"].removeprefix(f"{self.prefix}/") for entry in found]


@pytest.fixture(scope="module")
def s3(tidegate_stack: LocalStack) -> Any:
    client = tidegate_stack.clients().s3
    client.create_bucket(Bucket=BUCKET)
    return client


@pytest.fixture(scope="module")
def remote(tidegate_stack: LocalStack) -> SparkRemote:
    return tidegate_stack.spark.remote


@pytest.fixture(scope="module")
def spark(remote: SparkRemote) -> Iterator[SparkSession]:
    with isolated_session(remote) as session:
        yield session


@pytest.fixture
def table(spark: SparkSession, s3: Any) -> Table:
    return Table(spark, s3)


def landed(row: Row) -> tuple[int, str, str, bool]:
    return row.version, row.outcome, row.digest, row.replayed


def test_birth_append_replay(table: Table) -> None:
    assert landed(table.born()) == (0, "committed", "digest-1", False)
    more = [table.put("sub/ü b.parquet", range(10, 15)) | {"path": "sub/%C3%BC%20b.parquet"}]
    assert landed(table.land(2, 0, more)) == (1, "committed", "digest-2", False)
    assert landed(table.land(2, 0, more)) == (1, "committed", "digest-2", True)
    assert table.ids() == list(range(15))
    state = table.state()
    assert (state.version, state.txn, state.num_files) == (1, 2, 2)
    assert json.loads(state.properties)["tidegate.lake"] == LAKE


def test_the_probe_leaves_nothing(table: Table) -> None:
    table.born()
    logged = [key for key in table.objects() if key.startswith("_delta_log/") and not key.endswith("/")]
    assert logged == [f"_delta_log/{0:020d}.json"]


def test_no_table(table: Table) -> None:
    state = table.state()
    assert (state.version, state.txn, state.table_id, state.schema) == (-1, None, None, None)
    assert table.objects() == []


def test_stage_reads_the_clients_view_and_commits_nothing(table: Table) -> None:
    table.spark.range(20).createOrReplaceTempView("arrived")
    rows = table.call(
        "stage_files",
        table=table.uri,
        query="SELECT id FROM arrived WHERE id >= 5",
        schema=json.dumps(SCHEMA),
        partition_columns="[]",
        properties="{}",
    )
    actions = [json.loads(row.action) for row in rows]
    assert not [key for key in table.objects() if "_delta_log" in key]
    assert sum(json.loads(action["stats"])["numRecords"] for action in actions) == 15
    adds = [
        {
            "path": action["path"],
            "partition_values": action["partitionValues"],
            "size": action["size"],
            "modification_time": action["modificationTime"],
            "stats": action["stats"],
            "etag": None,
            "source_key": None,
        }
        for action in actions
    ]
    create = {"schema": SCHEMA, "partition_columns": [], "properties": {}, "name": "t"}
    table.land(1, -1, adds, create=create)
    assert table.ids() == list(range(5, 20))


def test_an_overwritten_source_voids_and_says_so(table: Table) -> None:
    table.born()
    planned = table.put("b.parquet", range(10, 20))
    table.put("b.parquet", range(20, 30))
    row = table.land(2, 0, [planned])
    assert landed(row) == (1, "void", "digest-2", False)
    assert "has etag" in row.reason
    key = f"lake/batches/{table.key}/{2:020d}.void"
    void = json.loads(table.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read())
    assert void == {"digest": "digest-2", "reason": row.reason, "version": 1}


def test_live_files(table: Table) -> None:
    table.born()
    rows = table.call("live_files", table=table.uri, paths='["a.parquet", "gone.parquet"]')
    assert [(row.path, row.dv_id, row.num_records) for row in rows] == [("a.parquet", None, 10)]


def test_a_refusal_is_readable_at_the_client(table: Table) -> None:
    table.born()
    with pytest.raises(PySparkException) as refused:
        table.land(3, 0, [])
    assert str(refused.value).splitlines()[0].startswith("[TIDEGATE_CLOCK] batch 3 does not follow")
    assert refused.value.getCondition() == "TIDEGATE_CLOCK"


def test_a_dropped_table_is_noticed(table: Table) -> None:
    table.born()
    for key in table.objects():
        table.s3.delete_object(Bucket=BUCKET, Key=f"{table.prefix}/{key}")
    with pytest.raises(PySparkException, match=r"^\[TIDEGATE_DROPPED\]"):
        table.land(2, 0, [])


def test_a_session_of_its_own_is_not_the_active_session(remote: SparkRemote) -> None:
    """Else a closed session stays active, and each later run of this process opens a session that stays open."""

    def active() -> ConnectSession | None:
        with isolated_session(remote) as session:
            assert session.range(3).count() == 3
            return ConnectSession.getActiveSession()

    with ThreadPoolExecutor(1) as fresh_thread:
        assert fresh_thread.submit(active).result(timeout=60) is None


def test_concurrent_writers_lose_no_commit(table: Table, remote: SparkRemote) -> None:
    table.born()
    batch = [table.put("b.parquet", range(10, 15))]

    def insert(worker: int) -> None:
        session = SparkSession.builder.remote(remote.url).create()
        try:
            for i in range(3):
                session.sql(f"INSERT INTO delta.`{table.uri}` VALUES ({1000 + 10 * worker + i})")
        finally:
            session.stop()

    with ThreadPoolExecutor(4) as pool:
        inserts = [pool.submit(insert, worker) for worker in range(2)]
        lands = [pool.submit(table.land, 2, 0, batch) for _ in range(3)]
        rows = [land.result(timeout=250) for land in lands]
        for done in inserts:
            done.result(timeout=250)
    assert sum(not row.replayed for row in rows) == 1
    assert len({row.version for row in rows}) == 1
    inserted = [1000 + 10 * worker + i for worker in range(2) for i in range(3)]
    assert table.ids() == list(range(15)) + sorted(inserted)
    assert table.state().version == 7
