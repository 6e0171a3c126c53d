"""Silver merges: a thousand random keys into a small table, into its history, and into a large table.

python -m benchmarks.merge [--small N] [--large N] [--merges N]
"""

from __future__ import annotations

import io
import json
import random
import statistics
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.support.arguments import arguments
from benchmarks.support.machine import Machine, Spent, spending
from tidegate.assets.bronze.run import run_table
from tidegate.assets.runs.options import RunOptions
from tidegate.assets.silver.merge import merge_table
from tidegate.platform.testing import TestLake

#: Rows of each file.
_FILE = 500_000
_KEYS = 1_000
#: The table with `stored_as: scd2`, which gets the changes of the small one.
_HISTORY = "history"


def _put(lake: TestLake, table: str, name: str, ids: list[int], at: int) -> None:
    body = io.BytesIO()
    columns = {
        "id": pa.array(ids, pa.int64()),
        "at": pa.array([at] * len(ids), pa.int64()),
        "state": [f"state {at} of {number:012d}" for number in ids],
    }
    pq.write_table(pa.table(columns), body)
    lake.put(f"{table}/{name}.parquet", body.getvalue())


def _merged(lake: TestLake, table: str) -> Spent:
    (done,) = run_table(lake.lake.table(lake.key(table)), RunOptions(run_id="bench", listing=True))
    assert done.landed.outcome == "committed"
    with spending() as spent:
        merged = merge_table(lake.lake, lake.spec(table))
    assert merged is not None
    assert not merged.deleted
    print(f"  {table}: {spent}", file=sys.stderr)
    return spent


def _measured(lake: TestLake, table: str, rows: int, merges: int) -> dict[str, Any]:
    for first in range(0, rows, _FILE):
        _put(lake, table, f"base-{first}", list(range(first, min(first + _FILE, rows))), 0)
    base = _merged(lake, table)
    found = []
    for at in range(1, merges + 1):
        _put(lake, table, f"change-{at}", random.Random(at).sample(range(rows), _KEYS), at)
        found.append(_merged(lake, table))
    where = " WHERE is_current" if table == _HISTORY else ""
    last = lake.sql(f"SELECT count(*), max(at) FROM silver.{table}{where}")
    assert [tuple(row) for row in last] == [(rows, merges)], last
    # The first merges compile what the others use.
    warm = found[-max(1, merges // 2) :]
    return {
        "rows": rows,
        "first": asdict(base),
        "seconds": statistics.median(spent.seconds for spent in warm),
        "cpu_seconds": statistics.median(spent.cpu for spent in warm),
    }


def main() -> None:
    """Measure and print JSON."""
    chosen = arguments("merge", small=100_000, large=10_000_000, merges=8)
    sizes = {"small": chosen.small, _HISTORY: chosen.small, "large": chosen.large}
    silver = {"keys": ["id"], "order": "at", "every": 60}
    tables = [
        {
            "name": name,
            "prefix": f"{name}/",
            "format": "parquet",
            "silver": {**silver, "stored_as": "scd2" if name == _HISTORY else "scd1"},
        }
        for name in sizes
    ]
    with tempfile.TemporaryDirectory() as home, Machine(Path(home)) as machine:
        lake = machine.lake("merge", tables)
        found: dict[str, Any] = {name: _measured(lake, name, rows, chosen.merges) for name, rows in sizes.items()}
    for name, measure in (("history_by_small", "seconds"), ("cpu_history_by_small", "cpu_seconds")):
        found[name] = round(found[_HISTORY][measure] / found["small"][measure], 2)
    found["large_by_small"] = round(found["large"]["seconds"] / found["small"]["seconds"], 2)
    found["cpu_large_by_small"] = round(found["large"]["cpu_seconds"] / found["small"]["cpu_seconds"], 2)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
