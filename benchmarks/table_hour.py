"""The cost of a table per hour: CPU seconds of all processes for an idle, a cold and a hot table.

An hour is computed from some minutes of the local platform with Dagster and its UI, with ticks of intake every 30
seconds as by default. Two idle platforms, one with few tables and one with many, are compared: the difference is the
cost of an idle table. Then hot tables get files all the time, and cold tables one file each, for which they share runs.
The consumption of the idle platform is subtracted from both. Prints JSON.

    python -m benchmarks.table_hour [--tables 1000] [--cold 100] [--hot 10] [--every 5] [--idle 300] [--heat 180]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from benchmarks.run_cost import BUCKET, Bench, platform

_HOUR = 3600
#: Seconds after the start in which partitions, checks and names of all tables are reported for the first time.
_SETTLES = 60.0
_LAKE = """
lake: {root: "s3://bench-lake/lake"}
queues: [{url: "${TIDEGATE_QUEUE_URL}"}]
buckets: [bench-landing]
tables:
"""


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table_hour")
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--cold", type=int, default=100)
    parser.add_argument("--hot", type=int, default=10)
    parser.add_argument("--every", type=float, default=5, help="seconds between two files of a hot table")
    parser.add_argument(
        "--idle", type=float, default=300, help="seconds without files; the health sensor ticks once in them"
    )
    parser.add_argument("--heat", type=float, default=180, help="seconds in which hot tables get files")
    options = parser.parse_args()
    found: dict[str, Any] = {"measured": vars(options)}
    with platform(_lake("hot", options.hot, window=60), ui=True) as bench:
        bench.all_at_once(options.hot, 1, "hot")
        few = _idle(bench, options.idle)
        _say("idle", few)
        hot = bench.measured(lambda: _heated(bench, options.hot, options.every, options.heat), few, options.hot)
        _say("hot", hot)
    with platform(_lake("cold", options.tables, window=0), ui=True) as bench:
        many = _idle(bench, options.idle)
        _say("idle", many)
        first, further = (
            bench.measured(lambda files=files: bench.all_at_once(options.cold, files), many, options.cold)
            for files in (1, 2)
        )
    there = (_mine(many) - _mine(few)) / (options.tables - options.hot) * _HOUR
    found["idle_an_hour"] = {str(options.hot): _an_hour(few), str(options.tables): _an_hour(many)}
    found["runs"] = {"hot": hot, "cold_first": first, "cold_further": further}
    found["a_table_an_hour"] = {
        "that_gets_nothing": round(there, 2),
        "cold": round(there + further["all_but_aws"], 2),
        "hot": round(there + hot["all_but_aws"] * _HOUR / options.heat, 1),
    }
    print(json.dumps(found, indent=2))


def _lake(name: str, tables: int, window: int) -> str:
    lines = [
        f'  - {{name: {name}{n:03}, prefix: "s3://{BUCKET}/{name}{n:03}/", window: {window}}}\n' for n in range(tables)
    ]
    return _LAKE + "".join(lines)


def _idle(bench: Bench, seconds: float) -> dict[str, float]:
    time.sleep(_SETTLES)
    return bench.idle(seconds)


def _heated(bench: Bench, tables: int, every: float, seconds: float) -> dict[str, Any]:
    """Measure files for every table at once, again and again, and their runs."""
    ends, files = time.monotonic() + seconds, 0
    while (begun := time.monotonic()) < ends:
        for n in range(tables):
            bench.put(f"hot{n:03}", f"{files:05}")
        files += 1
        time.sleep(max(0.0, begun + every - time.monotonic()))
    bench.wait(lambda: all(bench.files(f"hot{n:03}") == files + 1 for n in range(tables)), every=5)
    bench.rest()
    return {"files_each": files}


def _say(what: str, found: dict[str, Any]) -> None:
    print(f"{what}: {json.dumps(found)}", file=sys.stderr, flush=True)


def _mine(parts: dict[str, float]) -> float:
    return sum(value for name, value in parts.items() if name != "aws")


def _an_hour(parts: dict[str, float]) -> dict[str, float]:
    return {name: round(value * _HOUR) for name, value in parts.items()} | {"all_but_aws": round(_mine(parts) * _HOUR)}


if __name__ == "__main__":
    main()
