"""The requests of a bronze run to S3 and DynamoDB, by name, and its cost on a warm server. One file by default.

Starts its own local AWS and a Spark server like that of the tests, with a counting proxy for client and server. A run
is the whole of `run_table` after one event, and its report is counted by itself. Prints JSON: the requests of the
median run of each mode by name, the medians and means of all, the report's, and the CPU seconds of the client (with its
children) and the server, measured without proxies. Medians hide checkpoints, which fall into every tenth run, and what
is asked once a minute: `--pause 65` shows the latter.

    python -m benchmarks.one_file_run [--runs 10] [--warm-up 6] [--files 1] [--only register] [--commits s3]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import statistics
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.plugins.costs import cpu_seconds
from tests.support.servers.fault_proxy import FaultProxy
from tests.support.servers.fault_rules import Rule
from tidegate.assets.bronze.asset import table_report
from tidegate.assets.bronze.previous_report import PreviousReport
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import BatchResult, run_table
from tidegate.platform.cloud.requirements import WantedResources
from tidegate.platform.core.bronze.hint import Event, Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.config.commits import log_store_class
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.lake.lake import Lake, Table, open_lake
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients, provision
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.spark.server import SparkServer

MODES = ("register", "load")
_VOLATILE = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,27}"), "<uuid>"),
    (re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b"), "<ulid>"),
    (re.compile(r"\d{20}"), "<n>"),
    (re.compile(r"&(fetch-owner|encoding-type|max-keys|x-id|continuation-token)=[^&]*"), ""),
    (re.compile(r"\?x-id=\w+"), ""),
    (re.compile(r"[?&]x-id=\w+"), ""),
    (re.compile(r"/\d+\.(parquet|json)"), r"/<file>.\1"),
)


@dataclass
class Side:
    """The requests of client or server, counted at its proxy."""

    name: str
    proxy: FaultProxy
    all: Rule
    seen: int = 0

    @classmethod
    def before(cls, name: str, proxy: FaultProxy) -> Side:
        """Return the side behind a proxy."""
        return cls(name, proxy, proxy.count(".*", ".*"))

    def since(self) -> list[str]:
        """Return the requests since the last call, by name."""
        found = list(self.all.requests)
        new, self.seen = found[self.seen :], len(found)
        return [f"{self.name} {_named(request)}" for request in new]


def _named(request: str) -> str:
    method, _, path = request.partition(" ")
    path = unquote(path)
    if "DynamoDB" in path or not path.startswith("/") or re.fullmatch(r"/[A-Z]\w+", path):
        return f"DynamoDB {path.rpartition('/')[2]}"
    if "list-type=2" in path:
        method = "LIST"
    for pattern, name in _VOLATILE:
        path = pattern.sub(name, path)
    return f"{method} {path}"


def _lake(config: LakeConfig, aws: LocalAws, endpoint: str, server: SparkServer, session: Any) -> Lake:
    keys = aws.environ
    client = Aws(
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
    )
    return open_lake(config, client, server.remote, lambda: session)


def _body(mode: str, n: int) -> bytes:
    if mode == "load":
        return f'{{"id": {n}}}\n'.encode()
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array([n], pa.int64())}), sink)
    return sink.getvalue()


class Bench:
    """A table that gets its files run by run."""

    def __init__(self, clients: Clients, config: LakeConfig, mode: str, files: int) -> None:
        self.clients = clients
        self.files = files
        self.mode = mode
        self.spec = next(spec for spec in config.tables if spec.name == mode)
        self.table_key = self.spec.table_key.encode()
        self.n = 0

    def arrive(self, lake: Lake) -> None:
        """Put files and announce their events."""
        first, self.n = self.n + 1, self.n + self.files
        with ThreadPoolExecutor(8) as pool:
            hints = list(pool.map(self._put, range(first, self.n + 1)))
        lake.store.inbox.put([Manifest.create(self.table_key, "intake", hints)])

    def _put(self, n: int) -> Hint:
        key = f"{self.mode}/{n}.{'json' if self.mode == 'load' else 'parquet'}"
        self.clients.s3.put_object(Bucket="landing", Key=key, Body=_body(self.mode, n))
        return Hint(key, Event(f"e{n}#0"))

    def run(self, lake: Lake) -> tuple[Table, BatchResult, float]:
        """Run the table after an arrival. Returns it, its batch and the seconds."""
        begun = time.monotonic()
        table = lake.table(self.table_key)
        (done,) = run_table(table, RunOptions(run_id="bench"))
        assert done.batch.counts() == {"committed": self.files}, done
        return table, done, time.monotonic() - begun


def requests(
    bench: Bench, direct: Lake, lake: Lake, sides: list[Side], runs: int, warm_up: int, pause: float
) -> dict[str, Any]:
    """Return the requests of warm runs through the proxies."""
    every: list[list[str]] = []
    reports: list[list[str]] = []
    seconds = []
    before = PreviousReport(rows=0)
    for count in range(warm_up + runs):
        bench.arrive(direct)
        if count >= warm_up:
            time.sleep(pause)
        _since(sides)
        table, done, took = bench.run(lake)
        run = _since(sides)
        # As a run of Dagster has it: the report before says how many rows there were.
        snapshot = table_report(table, [done], before).now
        before = PreviousReport(rows=snapshot.rows, version=snapshot.state.version if snapshot.state else None)
        if count >= warm_up:
            every.append(run)
            reports.append(_since(sides))
            seconds.append(took)
    by_size = sorted(every, key=len)
    last, reported = by_size[len(every) // 2], sorted(reports, key=len)[len(reports) // 2]
    return {
        **_figures(every),
        "in_order": last if bench.files == 1 else dict(Counter(last)),
        "most": dict(Counter(by_size[-1])),
        "report": {**_figures(reports), "in_order": reported},
        "seconds_behind_proxies": round(statistics.median(seconds), 2),
    }


def _since(sides: list[Side]) -> list[str]:
    return [request for side in sides for request in side.since()]


def _figures(every: list[list[str]]) -> dict[str, Any]:
    """Return the medians and means of runs, and those of each kind of request."""
    dynamodb = [sum("DynamoDB" in request for request in run) for run in every]
    s3 = [len(run) - of_dynamodb for run, of_dynamodb in zip(every, dynamodb, strict=True)]
    kinds = [Counter(_kind(request) for request in run) for run in every]
    names = sorted({kind for run in kinds for kind in run})
    return {
        "s3": {"median": statistics.median(s3), "mean": round(statistics.mean(s3), 2), "all": s3},
        "dynamodb": {
            "median": statistics.median(dynamodb),
            "mean": round(statistics.mean(dynamodb), 2),
            "all": dynamodb,
        },
        "kinds": {name: statistics.median(run[name] for run in kinds) for name in names},
        "means": {name: round(statistics.mean(run[name] for run in kinds), 2) for name in names},
    }


def _kind(request: str) -> str:
    """Return the method of a request to S3, or the operation of one to DynamoDB."""
    words = request.split()
    return f"DynamoDB {words[2].rpartition('.')[2]}" if words[1] == "DynamoDB" else words[1]


def costs(bench: Bench, lake: Lake, server: SparkServer, runs: int, warm_up: int) -> dict[str, float]:
    """Return CPU seconds and seconds of warm runs without proxies."""
    for _ in range(warm_up):
        bench.arrive(lake)
        bench.run(lake)
    found = []
    assert server.process is not None
    for _ in range(runs):
        bench.arrive(lake)
        mine, theirs = _own_cpu(), cpu_seconds(server.process.pid)
        _, _, took = bench.run(lake)
        found.append((_own_cpu() - mine, cpu_seconds(server.process.pid) - theirs, took))
    client, spark, seconds = (round(statistics.median(values), 2) for values in zip(*found, strict=True))
    return {"client_cpu_seconds": client, "server_cpu_seconds": spark, "seconds": seconds}


def _own_cpu() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=10, help="measured runs of each mode")
    parser.add_argument("--warm-up", type=int, default=6, help="runs before the measured ones")
    parser.add_argument("--files", type=int, default=1, help="files of each run")
    parser.add_argument("--only", choices=MODES, help="one mode")
    parser.add_argument("--no-requests", action="store_true", help="costs alone")
    parser.add_argument("--only-requests", action="store_true", help="requests alone")
    parser.add_argument("--commits", choices=("dynamodb", "s3"), default="dynamodb", help="how commits are coordinated")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before each measured run")
    chosen = parser.parse_args()
    modes = [chosen.only] if chosen.only else list(MODES)
    tables = [{"name": mode, "prefix": f"s3://landing/{mode}/", "mode": mode} for mode in modes]
    for table in tables:
        if table["name"] == "load":
            table["format"] = "json"
    result: dict[str, Any] = {}
    with ExitStack() as running:
        home = Path(running.enter_context(tempfile.TemporaryDirectory()))
        aws = running.enter_context(LocalAws(home / "aws", 0))
        keys = aws.environ
        clients = Clients.connect(
            aws.endpoint, REGION, key=keys["AWS_ACCESS_KEY_ID"], secret=keys["AWS_SECRET_ACCESS_KEY"]
        )
        config = LakeConfig.model_validate(
            {
                "lake": {"root": "s3://lake/lake", "commits": chosen.commits},
                "queues": [{"url": aws.queue_url("bench")}],
                "buckets": ["landing"],
                "tables": tables,
            }
        )
        provision(clients, WantedResources.from_config(config))
        for proxied in (*([] if chosen.only_requests else [False]), *([] if chosen.no_requests else [True])):
            proxies = [running.enter_context(FaultProxy(aws.endpoint)) for _ in range(2)] if proxied else []
            sides = [Side.before(name, proxy) for name, proxy in zip(("client", "spark"), proxies, strict=False)]
            ends = [side.proxy.endpoint for side in sides] or [aws.endpoint] * 2
            server = SparkServer(
                home / f"spark-{proxied}",
                {**keys, "AWS_ENDPOINT_URL": ends[1]},
                port=0,
                memory="2g",
                conf=SMALL_DATA,
                log_store=log_store_class(chosen.commits),
            )
            running.callback(server.stop)
            server.start(150.0)
            session = running.enter_context(isolated_session(server.remote))
            direct = _lake(config, aws, aws.endpoint, server, session)
            lake = _lake(config, aws, ends[0], server, session)
            for mode in modes:
                bench = Bench(clients, config, mode, chosen.files)
                bench.n = 10_000_000 if proxied else 0
                found = (
                    requests(bench, direct, lake, sides, chosen.runs, chosen.warm_up, chosen.pause)
                    if proxied
                    else costs(bench, lake, server, chosen.runs, chosen.warm_up)
                )
                result.setdefault(mode, {}).update(found)
            server.stop()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
