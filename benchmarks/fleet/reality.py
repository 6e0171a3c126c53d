"""A small real fleet, and what the simulation says of the same objects.

Starts the local platform with Dagster, configures tables of JSON files, and puts the objects of a load, each at its
second. Afterwards the Delta logs say when each batch was committed, and the batches which objects it has. Prints JSON.

    python -m benchmarks.fleet.reality [--tables 100] [--seconds 600] [--a_minute 600]
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.fleet.arrivals import Load
from benchmarks.fleet.figures import figures
from benchmarks.fleet.outcome import quantiles
from benchmarks.fleet.rules import Costs, Rules
from benchmarks.fleet.simulation import Simulation
from benchmarks.run_cost import BUCKET, Bench, platform
from benchmarks.support.arguments import arguments
from benchmarks.support.others import others_sampled

_ROWS = 10
_COLUMNS = "{id: long, note: string}"
_LAKE = """
lake: {root: "s3://bench-lake/lake"}
queues: [{url: "${TIDEGATE_QUEUE_URL}"}]
buckets: [bench-landing]
tables:
"""
#: Seconds in which partitions, checks and names of all tables are reported for the first time.
_SETTLES = 60.0
_IDLE = 30.0


def main() -> None:
    """Measure, predict, and print JSON."""
    options = arguments("fleet.reality", tables=100, seconds=600, a_minute=600)
    load = Load(options.tables, options.a_minute * 1_440.0, seconds=float(options.seconds), slice=1.0)
    lake = _LAKE + "".join(
        f'  - {{name: {_name(n)}, prefix: "s3://{BUCKET}/{_name(n)}/", format: json, columns: {_COLUMNS}}}\n'
        for n in range(load.tables)
    )
    with platform(lake) as bench:
        # The first batch of a table makes the table, which costs more than a batch. The load has tables that exist.
        _put_all(bench, Load(load.tables, 0.0, seconds=1.0, slice=1.0), first=True)
        bench.wait(lambda: len(_committed(bench, load.tables)) == load.tables, 600, 2.0)
        bench.rest()
        time.sleep(_SETTLES)
        idle, runs = bench.idle(_IDLE), bench.runs()
        burnt, begun = bench.burnt(), time.time()
        with others_sampled() as samples:
            _put_all(bench, load)
        put = time.time() - begun
        wanted = load.tables + sum(int(counts.sum()) for _, counts in load.slices())
        bench.wait(lambda: len(_committed(bench, load.tables)) == wanted, 900, 5.0)
        bench.rest()
        took = time.time() - begun
        after = bench.burnt()
        net = {name: after[name] - burnt[name] - idle[name] * took for name in after}
        took_runs, ticks = bench.runs_took()[: bench.runs() - runs], [at for at in bench.ticks() if at > begun]
        committed = [
            (key, arrived, at) for key, (arrived, at) in _committed(bench, load.tables).items() if arrived >= begun
        ]
        lags = np.array([at - arrived for _, arrived, at in committed])
        measured = {
            "files": len(lags),
            "runs": bench.runs() - runs,
            "batches": len({(key.partition("/")[0], at) for key, _, at in committed}),
            "freshness": [round(seconds, 1) for seconds in quantiles(lags, np.ones(len(lags), np.int64))],
            "cpu_seconds": round(sum(value for name, value in net.items() if name != "aws"), 1),
        }
    aws = net["aws"] / sum(net.values())
    print(
        json.dumps(
            {
                "options": vars(options),
                "put_in": round(put, 1),
                "cpu_by_part": {name: round(value, 1) for name, value in net.items()},
                "other_work": f"during it, {statistics.mean(samples):.1f} threads of others ran or waited for a core",
                "run_requested_to_started": [round(seconds, 2) for seconds, _ in took_runs],
                "run_seconds": [round(seconds, 2) for _, seconds in took_runs],
                "tick_intervals": [round(later - earlier, 1) for later, earlier in pairwise(ticks)],
                "measured": measured,
                "predicted": predicted(load, os.cpu_count() or 1, aws, sum(idle.values()), statistics.mean(samples)),
            },
            indent=2,
        )
    )


def predicted(load: Load, cores: int, aws: float, idle: float, others: float) -> dict[str, Any]:
    """Return what the simulation says of a load on one machine.

    Args:
        load: the load.
        cores: cores of the machine.
        aws: share of the CPU that the local AWS takes, which on AWS nobody pays for.
        idle: cores that the idle platform uses.
        others: cores that other processes of the machine would use.
    """
    costs = Costs.of(figures())
    outcome = Simulation(load, Rules(), costs, (cores - idle) * (1 - aws), others=others).run()
    cpu = outcome.runs * costs.run_cpu + outcome.batches * costs.batch_cpu
    return {
        "files": outcome.committed,
        "runs": outcome.runs,
        "batches": outcome.batches,
        "freshness": [round(seconds, 1) for seconds in outcome.freshness()],
        "cpu_seconds": round(
            cpu + outcome.committed * (costs.file_cpu + costs.message_cpu) + outcome.ticks * costs.tick_cpu, 1
        ),
    }


def _name(table: int) -> str:
    return f"t{table:03}"


def _put_all(bench: Bench, load: Load, *, first: bool = False) -> None:
    """Put each object of a load at its time, or one object of each table at once. Keys have the time of their PUT."""

    def put(table: int, number: int) -> None:
        body = "".join(f'{{"id": {number * _ROWS + row}, "note": "row {row} of {number}"}}\n' for row in range(_ROWS))
        bench.put_object(f"{_name(table)}/{time.time():.3f}-{number}.json", body.encode())

    begun, number = time.monotonic(), 0
    random = np.random.default_rng(3)
    with ThreadPoolExecutor(8) as pool:
        if first:
            list(pool.map(put, range(load.tables), range(load.tables)))
            return
        for middle, counts in load.slices():
            tables = random.permutation(np.repeat(np.arange(load.tables), counts)).tolist()
            for place, table in enumerate(tables):
                due = begun + middle + ((place + 0.5) / len(tables) - 0.5) * load.slice
                time.sleep(max(0.0, due - time.monotonic()))
                pool.submit(put, table, number)
                number += 1


def _committed(bench: Bench, tables: int) -> dict[str, tuple[float, float]]:
    """Return of each committed object when it was put, and when its batch was committed."""
    found: dict[str, tuple[float, float]] = {}
    for table in range(tables):
        key = f"{BUCKET}.{_name(table)}"
        commits = dict(_commits(bench.bodies("bench-lake", f"lake/bronze/{key}/_delta_log/0")))
        for body in bench.bodies("bench-lake", f"lake/batches/{key}/"):
            batch = json.loads(body)
            if batch["n"] in commits:
                found |= {
                    row["key"]: (float(row["key"].rpartition("/")[2].split("-")[0]), commits[batch["n"]])
                    for row in batch["rows"]
                }
    return found


def _commits(bodies: Iterator[bytes]) -> Iterator[tuple[int, float]]:
    """Yield the number and the time of each batch in a Delta log."""
    for body in bodies:
        actions = [json.loads(line) for line in body.splitlines()]
        times = [action["commitInfo"]["timestamp"] / 1_000 for action in actions if "commitInfo" in action]
        yield from ((action["txn"]["version"], times[0]) for action in actions if "txn" in action)


if __name__ == "__main__":
    sys.exit(main())
