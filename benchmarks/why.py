"""`tidegate why` in large tables whose keys have an order: the command as a person starts it, and its parts.

Bronze has all rows in files by ascending key, and some batches of random keys after them. One table has the newest row
of each key, the other one the history of each key.

    python -m benchmarks.why [--rows N] [--batches N] [--keys N] [--history 0]
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.support.arguments import arguments
from benchmarks.support.machine import Machine, spending
from benchmarks.support.states import states
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.silver.audit.key_history import key_history
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

#: Rows of each file, and keys of each batch after the first.
_FILE = 500_000
_CHANGED = 1_000
_TABLES = {"newest": "scd1", "history": "scd2"}


def _land(lake: TestLake, table: str) -> None:
    run_table(lake.lake.table(lake.key(table)), RunOptions(run_id="bench", listing=True))
    merge_table(lake.lake, lake.spec(table))


def _fill(lake: TestLake, table: str, rows: int, batches: int, keys: list[int]) -> None:
    for first in range(0, rows, _FILE):
        lake.put(f"{table}/base-{first:012d}.parquet", states(range(first, min(first + _FILE, rows)), 0))
    _land(lake, table)
    print(f"  {table}: {rows} rows", file=sys.stderr)
    for at in range(1, batches + 1):
        others = random.Random(at).sample(range(rows), _CHANGED)
        lake.put(f"{table}/change-{at}.parquet", states(sorted({*others, *keys}), at))
        _land(lake, table)


def _asked(machine: Machine, lake: TestLake, table: str, keys: list[int], batches: int) -> dict[str, Any]:
    """Ask about each key in this process and as a command. The first key of each is not counted."""
    inside, cpu, jobs, commands = [], [], [], []
    for key in keys:
        before = machine.jobs()
        with spending() as spent:
            found = key_history(lake.lake, lake.spec(table), [f"id={key}"])
        assert found.is_right, found.verdict
        assert len(found.events) == batches + 1, found.events
        inside.append(spent.seconds)
        cpu.append(spent.cpu)
        jobs.append(machine.jobs() - before)
    environ = {**os.environ, **machine.aws.environ, **machine.spark.remote.environ, "TIDEGATE_LAKE": str(lake.path)}
    program = "from tidegate.platform.cli.main import main; main()"
    for key in keys:
        with spending() as spent:
            subprocess.run(
                [sys.executable, "-c", program, "why", f"silver.{table}", f"id={key}"],
                env=environ,
                check=True,
                stdout=subprocess.DEVNULL,
                timeout=300,
            )
        commands.append(spent.seconds)
    with spending() as compared:
        comparison = compare(lake.lake, lake.spec(table))
    assert comparison is not None
    assert not comparison.wrong
    return {
        "command_seconds": round(statistics.median(commands[1:]), 2),
        "seconds": round(statistics.median(inside[1:]), 2),
        "cpu_seconds": round(statistics.median(cpu[1:]), 2),
        "jobs": statistics.median(jobs[1:]),
        "check_seconds": round(compared.seconds, 2),
        "check_keys": comparison.keys,
        "check_suspects": comparison.suspects,
    }


def main() -> None:
    """Measure and print JSON."""
    chosen = arguments("why", rows=10_000_000, batches=4, keys=6, history=1)
    keys = random.Random(0).sample(range(chosen.rows), chosen.keys)
    silver = {"keys": ["id"], "order": "at", "every": 60}
    tables = [
        {"name": name, "prefix": f"{name}/", "format": "parquet", "silver": {**silver, "stored_as": stored}}
        for name, stored in _TABLES.items()
        if stored == "scd1" or chosen.history
    ]
    found: dict[str, Any] = {"rows": chosen.rows}
    with tempfile.TemporaryDirectory() as home, Machine(Path(home)) as machine:
        lake = machine.lake("why", tables)
        for table in (table["name"] for table in tables):
            _fill(lake, table, chosen.rows, chosen.batches, keys)
            found[table] = _asked(machine, lake, table, keys, chosen.batches)
            print(f"  {table}: {found[table]}", file=sys.stderr)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
