"""The cost of runs: CPU seconds of all processes from the PUT of a file to the end of its run, and seconds to visible.

Starts the local platform with Dagster and puts files one after another. Or it puts one file for each of many tables at
once, which share runs, and for some tables one at a time, which have a run each. Prints JSON. CPU seconds are those of
the whole process tree, by part, including ended children, minus the consumption of the idle platform. A file is visible
when its commit is in the Delta log of the table.

    python -m benchmarks.run_cost [--files 6] [--tables 0] [--own 0] [--rests 5]
"""

from __future__ import annotations

import argparse
import io
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.plugins.costs import cpu_seconds
from tidegate.assets.runs.held_tables import ACTIVE
from tidegate.platform.local.dagster_processes import DagsterProcesses
from tidegate.platform.local.names import name_tables
from tidegate.platform.local.process.process import Process
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.local.stack_file import client_environ

_LAKE = """
lake: {root: "s3://bench-lake/lake"}
queues: [{url: "${TIDEGATE_QUEUE_URL}"}]
buckets: [bench-landing]
intake: {seconds: 10, events: 5000, threads: 2, every: 1}
discovery: {per_day: 10000}
window: 0
"""
#: The landing bucket of the lake.yaml.
BUCKET = "bench-landing"


class Bench:
    """A running platform and its CPU time."""

    def __init__(self, stack: LocalStack, dagster: DagsterProcesses) -> None:
        processes: dict[str, Process | None] = {"aws": stack.aws.process, "spark": stack.spark.process}
        self._guards = {name: process.guard_pid for name, process in processes.items() if process}
        self._guards |= {name: process.guard_pid for name, process in dagster.processes.items()}
        self._s3 = stack.clients().s3
        self._instance = dagster.instance()
        body = io.BytesIO()
        pq.write_table(pa.table({"id": pa.array(range(1000), pa.int64())}), body)
        self._body = body.getvalue()

    def burnt(self) -> dict[str, float]:
        """Return the CPU seconds so far, by part."""
        return {name: cpu_seconds(guard) for name, guard in self._guards.items()}

    def idle(self, seconds: float) -> dict[str, float]:
        """Return the CPU seconds per second of the idle platform, by part."""
        before = self.burnt()
        time.sleep(seconds)
        return {name: (value - before[name]) / seconds for name, value in self.burnt().items()}

    def commits(self, table: str) -> int:
        """Return the number of commits in a table's Delta log."""
        return len(self._log(table))

    def files(self, table: str) -> int:
        """Return the number of files that were added to a table, by its Delta log."""
        bodies = (self._s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in self._log(table))
        return sum(body.count(b'{"add":') for body in bodies)

    def _log(self, table: str) -> list[str]:
        listed = self._s3.list_objects_v2(Bucket=BUCKET, Prefix=f"{table}/_delta_log/0").get("Contents", [])
        return [item["Key"] for item in listed if item["Key"].endswith(".json")]

    def put(self, table: str, name: str) -> None:
        """Put one file."""
        self.put_object(f"{table}/{name}.parquet", self._body)

    def put_object(self, key: str, body: bytes) -> None:
        """Put an object of the landing bucket."""
        self._s3.put_object(Bucket=BUCKET, Key=key, Body=body)

    def bodies(self, bucket: str, prefix: str) -> Iterator[bytes]:
        """Yield the content of each JSON object below a prefix, in the order of their keys."""
        for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for item in page.get("Contents", []):
                if item["Key"].endswith(".json"):
                    yield self._s3.get_object(Bucket=bucket, Key=item["Key"])["Body"].read()

    def wait(self, done: Callable[[], bool], seconds: float = 300, every: float = 0.05) -> float:
        """Wait until `done` returns True. Returns the seconds."""
        began = time.monotonic()
        while not done():
            if time.monotonic() - began > seconds:
                raise SystemExit("the awaited state was not reached in time")
            time.sleep(every)
        return time.monotonic() - began

    def rest(self) -> None:
        """Wait until no run is active."""
        self.wait(lambda: not self._instance.get_run_ids(dg.RunsFilter(statuses=ACTIVE), limit=1))

    def runs(self) -> int:
        """Run so far."""
        return self._instance.get_runs_count()

    def runs_took(self) -> list[tuple[float, float]]:
        """Return of each run the seconds from its request to its start, and from there to its end."""
        return [
            (record.start_time - record.create_timestamp.timestamp(), record.end_time - record.start_time)
            for record in self._instance.get_run_records()
        ]

    def ticks(self) -> list[float]:
        """Return when the ticks of the intake began, the last one first."""
        states = [state for state in self._instance.all_instigator_state() if state.instigator_name == "intake"]
        return [
            tick.timestamp
            for state in states
            for tick in self._instance.get_ticks(state.instigator_origin_id, state.selector_id)
        ]

    def one_by_one(self, files: int, rests: float) -> dict[str, Any]:
        """Measure files one after another: a file, its run, a pause."""
        before, seconds = self.commits("warm"), []
        for number in range(files):
            time.sleep(random.uniform(0, rests))  # at a random time within the intervals of the sensors
            self.put("warm", f"{time.time():.3f}")
            wanted = before + number + 1
            seconds.append(self.wait(lambda wanted=wanted: self.commits("warm") >= wanted))
            self.rest()
        seconds.sort()
        return {
            "visible_after": [round(after, 2) for after in seconds],
            "p50": round(statistics.median(seconds), 2),
            "p95": round(seconds[max(0, round(0.95 * len(seconds)) - 1)], 2),
        }

    def all_at_once(self, tables: int, files: int, kind: str = "cold") -> dict[str, Any]:
        """Measure the n-th file of each of many tables, put at once."""
        names = [f"{kind}{number:03}" for number in range(tables)]
        for name in names:
            self.put(name, str(files))
        took = self.wait(lambda: all(self.commits(name) >= files for name in names), 1_500, 1.0)
        self.rest()
        return {"seconds": round(took, 1)}

    def each_by_itself(self, tables: int, files: int) -> dict[str, Any]:
        """Measure the n-th file of each of some other tables, each put after the run of the one before."""
        for name in [f"own{number:03}" for number in range(tables)]:
            self.put(name, str(files))
            self.wait(lambda name=name: self.commits(name) >= files)
            self.rest()
        return {}

    def measured(self, work: Callable[[], dict[str, Any]], idle: dict[str, float], each: int) -> dict[str, Any]:
        """Run `work` and add the CPU seconds of each unit of work, by part, minus `idle` per second."""
        burnt, began, runs = self.burnt(), time.monotonic(), self.runs()
        found = work()
        took = time.monotonic() - began
        after = self.burnt()
        net = {name: (after[name] - burnt[name] - idle[name] * took) / each for name in after}
        parts = {name: round(value, 2) for name, value in net.items()}
        mine = sum(value for name, value in net.items() if name != "aws")
        return found | {"cpu_each": parts, "all_but_aws": round(mine, 2), "runs": self.runs() - runs}


@contextmanager
def platform(lake: str, *, ui: bool = False) -> Iterator[Bench]:
    """Run the local platform with Dagster inside the block, for a lake.yaml whose bucket is `BUCKET`."""
    with tempfile.TemporaryDirectory(prefix="tg") as folder:
        home = Path(folder)
        (home / "lake.yaml").write_text(lake)
        stack = LocalStack(home / "h", lake=home / "lake.yaml", aws_port=0, spark_port=0, on_ready=name_tables)
        with stack:
            dagster = DagsterProcesses(home / "h", client_environ(stack.environ), 0 if ui else None)
            try:
                dagster.start()
                yield Bench(stack, dagster)
            finally:
                dagster.stop()


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--tables", type=int, default=0)
    parser.add_argument("--own", type=int, default=0)
    parser.add_argument("--rests", type=float, default=5)
    parser.add_argument("--idle", type=float, default=20)
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    with platform(_LAKE) as bench:
        figures["first"] = bench.one_by_one(1, 0)
        bench.one_by_one(2, 0)
        idle = bench.idle(arguments.idle)
        figures["idle_cpu_a_second"] = {name: round(value, 3) for name, value in idle.items()}
        if arguments.files:
            figures["one_by_one"] = bench.measured(
                lambda: bench.one_by_one(arguments.files, arguments.rests), idle, arguments.files
            )
        for files in (1, 2) if arguments.tables else ():
            figures[f"all_at_once, file {files}"] = bench.measured(
                lambda files=files: bench.all_at_once(arguments.tables, files), idle, arguments.tables
            )
        for files in (1, 2) if arguments.own else ():
            figures[f"each_by_itself, file {files}"] = bench.measured(
                lambda files=files: bench.each_by_itself(arguments.own, files), idle, arguments.own
            )
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
