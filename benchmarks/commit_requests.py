"""Requests of one bronze commit, compared with Delta's default store and with conditional creates alone.

Starts its own local AWS, a counting proxy in front of it and a Spark server per variant, and prints JSON. A commit is
the whole of `add_files` with its transaction. S3 requests are those on the table's `_delta_log`. The requests of
checkpoint files, and of the clean-up of the log after a checkpoint, are counted separately, in total and not per
commit. The commits that Delta reads for a checkpoint count as requests of a commit: they raise some commits, but not
the median.

    python -m benchmarks.commit_requests [--commits 25]
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.servers.fault_proxy import FaultProxy
from tests.support.servers.fault_rules import Rule
from tidegate.platform.core.bronze.batch import Add, Batch, Create
from tidegate.platform.core.schema.column_types import Field, Simple
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.spark.server import SparkServer

BUCKET = "bench"
WARM_UP = 5
_CHECKPOINT = re.compile(r"checkpoint|_sidecars")
#: The end of a checkpoint. Delta cleans up the log only right after a checkpoint.
_CHECKPOINTED = re.compile(r"PUT [^?]*/_last_checkpoint\b")
_SCHEMA = TableSchema((Field("id", Simple("long")),))

Commit = Callable[[int], None]
Make = Callable[[Delta, Any, str], Commit]


class Counted:
    """Counts the requests through a proxy: S3 requests on a log, and DynamoDB calls."""

    def __init__(self, log: Rule, dynamodb: Rule) -> None:
        self._rules = (log, dynamodb)
        self._seen = (0, 0)

    def since(self) -> tuple[Counter[str], Counter[str], Counter[str]]:
        """Return S3 methods, DynamoDB operations, and requests of checkpoint and clean-up since the last call."""
        log, dynamodb = (list(rule.requests) for rule in self._rules)
        new, calls = log[self._seen[0] :], dynamodb[self._seen[1] :]
        self._seen = len(log), len(dynamodb)
        plain, upkeep = split_requests(new)
        return Counter(_kind(request) for request in plain), Counter(call.rpartition("/")[2] for call in calls), upkeep


def split_requests(requests: list[str]) -> tuple[list[str], Counter[str]]:
    """Return the requests of the commit itself, and the number of requests of its `checkpoint` and `clean_up`."""
    end = next((i + 1 for i, text in enumerate(requests) if _CHECKPOINTED.match(text)), len(requests))
    plain = [request for request in requests[:end] if not _CHECKPOINT.search(request)]
    return plain, Counter(checkpoint=end - len(plain), clean_up=len(requests) - end)


def _kind(request: str) -> str:
    method, _, path = request.partition(" ")
    return "LIST" if method == "GET" and "list-type=2" in path else method


def tidegate_commits(delta: Delta, s3: Any, table: str) -> Commit:
    """Return commits of batches through `add_files`, with one registered file each."""
    location, last = f"s3a://{BUCKET}/{table}", -1
    properties = {"tidegate.lake": "bench", "tidegate.generation": "g", "tidegate.table": table}

    def commit(n: int) -> None:
        nonlocal last
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"id": pa.array([n], pa.int64())}), sink)
        body = sink.getvalue().to_pybytes()
        etag = s3.put_object(Bucket=BUCKET, Key=f"{table}/f{n}.parquet", Body=body)["ETag"].strip('"')
        now = int(time.time() * 1000)
        add = Add(f"f{n}.parquet", {}, len(body), now, '{"numRecords":1}', etag, f"{table}/f{n}.parquet")
        create = Create(_SCHEMA, properties, table) if n == 0 else None
        batch = Batch("bench", table, "g", n + 1, location, last, (), adds=(add,), create=create).seal()
        key = f"batches/{table}/{n + 1}.json"
        s3.put_object(Bucket=BUCKET, Key=key, Body=batch.to_json())
        last = delta.add_files(location, f"s3a://{BUCKET}/{key}", verify_files=False).version

    return commit


def delta_commits(delta: Delta, s3: Any, table: str) -> Commit:
    """Return plain appends with a transaction, as users of Delta write them."""

    def commit(n: int) -> None:
        frame = delta.session.range(n, n + 1)
        writer = frame.write.format("delta").mode("append").option("txnAppId", "bench").option("txnVersion", n + 1)
        writer.save(f"s3a://{BUCKET}/{table}")

    return commit


VARIANTS: dict[str, tuple[str | None, Make]] = {
    "tidegate": ("io.tidegate.storage.DynamoDbLogStore", tidegate_commits),
    "tidegate, no DynamoDB": ("io.tidegate.storage.ConditionalS3LogStore", tidegate_commits),
    "delta append, our store": ("io.tidegate.storage.DynamoDbLogStore", delta_commits),
    "delta append, default store": (None, delta_commits),
}


@contextmanager
def _server(home: Path, aws: LocalAws, proxy: FaultProxy, store: str | None) -> Iterator[Delta]:
    environ = {**aws.environ, "AWS_ENDPOINT_URL": proxy.endpoint}
    server = SparkServer(home, environ, port=0, memory="2g", log_store=store)
    try:
        server.start(150.0)
        with isolated_session(server.remote) as session:
            yield Delta(server.remote, lambda: session)
    finally:
        server.stop()


def measure(home: Path, aws: LocalAws, name: str, commits: int) -> dict[str, Any]:
    """Return the figures of one variant per commit: medians, and the first and last commits to show growth."""
    store, make = VARIANTS[name]
    table = re.sub(r"\W+", "_", name)
    s3 = boto3.client("s3", endpoint_url=aws.endpoint, region_name=REGION)
    with FaultProxy(aws.endpoint) as proxy, _server(home / table, aws, proxy, store) as delta:
        counted = Counted(
            proxy.count(".*", rf"{table}/_delta_log|prefix={table}%2F_delta_log"), proxy.count("POST", r"^/\w+$")
        )
        commit = make(delta, s3, table)
        for n in range(WARM_UP):
            commit(n)
        counted.since()
        per_commit = []
        upkeep: Counter[str] = Counter()
        for n in range(WARM_UP, WARM_UP + commits):
            begun = time.monotonic()
            commit(n)
            kinds, calls, besides = counted.since()
            upkeep += besides
            per_commit.append((kinds, calls, time.monotonic() - begun))
    s3_counts = [kinds.total() for kinds, _, _ in per_commit]
    return {
        "variant": name,
        "commits": commits,
        "s3_requests_on_the_log": {
            "median": statistics.median(s3_counts),
            "first": s3_counts[0],
            "last": s3_counts[-1],
            "kinds_of_the_last": dict(per_commit[-1][0]),
        },
        "dynamodb_calls": {
            "median": statistics.median(calls.total() for _, calls, _ in per_commit),
            "kinds_of_the_last": dict(per_commit[-1][1]),
        },
        "checkpoint_requests_in_all": upkeep["checkpoint"],
        "clean_up_requests_in_all": upkeep["clean_up"],
        "seconds_median": round(statistics.median(seconds for *_, seconds in per_commit), 3),
    }


def main() -> None:
    """Measure every variant and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--commits", type=int, default=25, help="counted commits of each variant")
    parser.add_argument("--only", choices=list(VARIANTS), help="one variant")
    chosen = parser.parse_args()
    with ExitStack() as running:
        home = Path(running.enter_context(tempfile.TemporaryDirectory()))
        aws = running.enter_context(LocalAws(home / "aws", 0))
        keys = aws.environ
        boto3.setup_default_session(
            aws_access_key_id=keys["AWS_ACCESS_KEY_ID"], aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"]
        )
        boto3.client("s3", endpoint_url=aws.endpoint, region_name=REGION).create_bucket(Bucket=BUCKET)
        names = [chosen.only] if chosen.only else list(VARIANTS)
        print(json.dumps([measure(home, aws, name, chosen.commits) for name in names], indent=2))


if __name__ == "__main__":
    main()
