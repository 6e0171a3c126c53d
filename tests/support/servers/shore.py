"""Our log store together with other writers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.support.log_store.delta_log import DeltaLog, commit_file
from tests.support.plugins.proxied_aws import ProxiedAws
from tests.support.servers.fault_proxy import FaultProxy
from tests.support.servers.fault_rules import Hold

DEADLINE = 150.0


@dataclass
class Shore:
    """A Spark server with our log store, for tests with other writers."""

    folder: Path
    session: SparkSession
    services: ProxiedAws
    closing: ExitStack

    @property
    def proxy(self) -> FaultProxy:
        return self.services.proxy

    def create(self, folder: str = "") -> DeltaLog:
        """Create a table with one column, by Spark, in a folder such as `/a`. Returns its log."""
        log = self.services.new_log().below(folder)
        # Deletion vectors and similar features are on by default, and not every delta-rs supports them.
        self.session.sql(
            f"CREATE TABLE delta.`{log.location}` (id STRING) USING delta "
            "TBLPROPERTIES (delta.enableDeletionVectors = false)"
        ).collect()
        return log

    def append(self, log: DeltaLog, row: str) -> None:
        """Append one row by Spark."""
        self.session.sql(f"INSERT INTO delta.`{log.location}` VALUES ('{row}')").collect()

    @contextmanager
    def append_held(self, log: DeltaLog, row: str, version: int) -> Iterator[Hold]:
        """Append one row by Spark. It is claimed and not published until the block ends. Then it must exist."""
        held = self.proxy.hold("PUT", log.publication(version))
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(self.append, log, row)
            try:
                held.wait_caught(DEADLINE)
                yield held
            finally:
                held.release()
            writing.result(DEADLINE)

    @staticmethod
    def commits(log: DeltaLog) -> list[dict[str, Any]]:
        """Return the commitInfo of each version. The versions must have no gap."""
        versions = log.versions()
        assert versions == list(range(len(versions)))
        bodies = [log.read(commit_file(version)) for version in versions]
        return [
            next(action["commitInfo"] for action in map(json.loads, body.splitlines()) if "commitInfo" in action)
            for body in bodies
        ]

    def options(self) -> dict[str, str]:
        """Return delta-rs's storage options."""
        keys = self.services.aws.environ
        return {
            "AWS_ACCESS_KEY_ID": keys["AWS_ACCESS_KEY_ID"],
            "AWS_SECRET_ACCESS_KEY": keys["AWS_SECRET_ACCESS_KEY"],
            "AWS_REGION": keys["AWS_REGION"],
            "AWS_ENDPOINT_URL": self.services.aws.endpoint,
            "AWS_ALLOW_HTTP": "true",
        }

    def check_rows(self, log: DeltaLog, *expected: str) -> None:
        """Check that every reader finds exactly these rows."""
        spark = self.session.read.format("delta").load(log.location).collect()
        assert sorted(row["id"] for row in spark) == sorted(expected), "Spark"
        found = DeltaTable(log.location, storage_options=self.options()).to_pyarrow_dataset()
        assert sorted(found.to_table()["id"].to_pylist()) == sorted(expected), "delta-rs"
        assert sorted(row[0] for row in duckdb.sql("SELECT id FROM found").fetchall()) == sorted(expected), "DuckDB"
