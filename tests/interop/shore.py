"""Where our log store meets other writers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.dynamodb_local import DynamoDbLocal
from tidegate.platform.local.aws import LocalAws
from tidegate.platform.local.fault_proxy import FaultProxy
from tidegate.platform.local.fault_rules import Hold
from tidegate.platform.local.provision import Clients

BUCKET = "interop"
DEADLINE = 150.0


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

    @staticmethod
    def new_name() -> str:
        """The name of a table that nobody had before."""
        return f"t{uuid.uuid4().hex[:8]}"

    @staticmethod
    def path(table: str) -> str:
        """A table's root; delta-rs 1.6.0 must use the same scheme, it is part of the entries' key."""
        return f"s3a://{BUCKET}/{table}"

    def create(self) -> str:
        """A new table with one column, by Spark; its name."""
        name = self.new_name()
        # Deletion vectors and the like are on by default, and not every delta-rs knows them.
        self.session.sql(
            f"CREATE TABLE delta.`{self.path(name)}` (id STRING) USING delta "
            "TBLPROPERTIES (delta.enableDeletionVectors = false)"
        ).collect()
        return name

    def append(self, table: str, row: str) -> None:
        """One row, by Spark."""
        self.session.sql(f"INSERT INTO delta.`{self.path(table)}` VALUES ('{row}')").collect()

    @contextmanager
    def append_held(self, table: str, row: str, version: int) -> Iterator[Hold]:
        """One row, by Spark, claimed and not published until the block ends; it must be there then."""
        held = self.proxy.hold("PUT", f"{table}/_delta_log/{version:020d}\\.json$")
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(self.append, table, row)
            try:
                held.wait_caught(DEADLINE)
                yield held
            finally:
                held.release()
            writing.result(DEADLINE)

    def entries(self, table: str) -> dict[int, bool]:
        """Whether each version's entry is complete."""
        items = self.clients.dynamodb.query(
            TableName="delta_log",
            KeyConditionExpression="tablePath = :p",
            ExpressionAttributeValues={":p": {"S": self.path(table)}},
        )["Items"]
        return {int(item["fileName"]["S"][:20]): item["complete"]["S"] == "true" for item in items}

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

    def options(self) -> dict[str, str]:
        """delta-rs's storage options."""
        keys = self.aws.environ
        return {
            "AWS_ACCESS_KEY_ID": keys["AWS_ACCESS_KEY_ID"],
            "AWS_SECRET_ACCESS_KEY": keys["AWS_SECRET_ACCESS_KEY"],
            "AWS_REGION": keys["AWS_REGION"],
            "AWS_ENDPOINT_URL": self.aws.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }

    def check_rows(self, table: str, *expected: str) -> None:
        """Every reader finds just these rows."""
        spark = self.session.read.format("delta").load(self.path(table)).collect()
        assert sorted(row["id"] for row in spark) == sorted(expected), "Spark"
        found = DeltaTable(self.path(table), storage_options=self.options()).to_pyarrow_dataset()
        assert sorted(found.to_table()["id"].to_pylist()) == sorted(expected), "delta-rs"
        assert sorted(row[0] for row in duckdb.sql("SELECT id FROM found").fetchall()) == sorted(expected), "DuckDB"
