"""Silver merges: a whole table compared with bare Spark, and few changed rows into tables of several sizes.

`whole` merges all rows of a bronze table into an empty silver table. Bare Spark reads the same files, keeps the newest
row of each key by `row_number`, and writes a Delta table of its own. Both take turns, in one server that is warm.

`changes` changes a hundred random keys of a tiny table, and a thousand of a small table, of its history and of a large
table, in turns, and then many keys of the large table. Each second change is a materialization of the silver asset as
Dagster runs it, and the others are the merge alone.

    python -m benchmarks.merge [--part whole|changes] [--tiny N] [--small N] [--large N] [--merges N] [--many N]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
from pyspark.sql import Window
from pyspark.sql import functions as F

from benchmarks.support.machine import Machine, Spent, spending
from benchmarks.support.states import states
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

#: Rows of each file.
_FILE = 500_000
_KEYS = 1_000
_TINY, _SMALL, _HISTORY, _LARGE = "tiny", "small", "history", "large"


@dataclass
class _Table:
    """A table with silver.

    Attributes:
        machine: the servers.
        lake: the lake that it is in.
        name: its name and its prefix.
        rows: number of its keys.
        changes: number of changes that were merged.
        jobs: Spark jobs of the last merge.
    """

    machine: Machine
    lake: TestLake
    name: str
    rows: int
    changes: int = 0
    jobs: int = 0

    def put(self, name: str, ids: Sequence[int], at: int) -> str:
        """Put a file of rows. Returns its path for Spark."""
        key = f"{self.name}/{name}.parquet"
        self.lake.put(key, states(ids, at))
        return f"s3a://{self.lake.bucket}/{key}"

    def fill(self) -> list[str]:
        """Put all rows into bronze. Returns the paths of their files."""
        ids = range(self.rows)
        paths = [self.put(f"base-{first}", ids[first : first + _FILE], 0) for first in ids[::_FILE]]
        self.land()
        return paths

    def land(self) -> None:
        """Bring the files into bronze."""
        table = self.lake.lake.table(self.lake.key(self.name))
        (done,) = run_table(table, RunOptions(run_id="bench", listing=True))
        assert done.landed.outcome == "committed", done

    def merge(self) -> Spent:
        """Merge what waits."""
        before = self.machine.jobs()
        with spending() as spent:
            merged = merge_table(self.lake.lake, self.lake.spec(self.name))
        assert merged is not None
        assert not merged.deleted
        self.jobs = self.machine.jobs() - before
        print(f"  {self.name}: {spent}, {self.jobs} jobs", file=sys.stderr)
        return spent

    def materialize(self, instance: dg.DagsterInstance) -> Spent:
        """Materialize the silver asset, as a run of Dagster does."""
        job = self.lake.definitions.resolve_job_def(f"silver_{self.name}_job")
        before = self.machine.jobs()
        with spending() as spent:
            done = job.execute_in_process(instance=instance)
        assert done.success
        jobs = self.machine.jobs() - before
        print(f"  {self.name}, materialized: {spent}, {jobs} jobs", file=sys.stderr)
        return spent

    def change(self, keys: int, instance: dg.DagsterInstance | None = None) -> Spent:
        """Merge new rows of random keys, in a run of Dagster if an instance is given."""
        self.changes += 1
        self.put(f"change-{self.changes}", random.Random(self.changes).sample(range(self.rows), keys), self.changes)
        self.land()
        return self.materialize(instance) if instance else self.merge()

    def check(self) -> None:
        """Check that silver has each key, and the last change."""
        where = " WHERE is_current" if self.name == _HISTORY else ""
        (found,) = self.lake.sql(f"SELECT count(*), max(at) FROM silver.{self.name}{where}")
        assert tuple(found) == (self.rows, self.changes), found


def _lake(machine: Machine, name: str, tables: Sequence[str]) -> TestLake:
    return machine.lake(
        name,
        [
            {
                "name": table,
                "prefix": f"{table}/",
                "format": "parquet",
                "silver": {
                    "keys": ["id"],
                    "order": "at",
                    "every": 60,
                    "stored_as": "scd2" if table == _HISTORY else "scd1",
                },
            }
            for table in tables
        ],
    )


def _bare(lake: TestLake, paths: Sequence[str], to: str) -> Spent:
    """Keep the newest row of each key, as a person would write it in Spark."""
    with spending() as spent:
        place = F.row_number().over(Window.partitionBy("id").orderBy(F.desc("at")))
        rows = lake.lake.delta.session.read.parquet(*paths).withColumn("place", place).where("place = 1").drop("place")
        rows.write.format("delta").save(f"s3a://{lake.lake_bucket}/bare/{to}")
    print(f"  bare {to}: {spent}", file=sys.stderr)
    return spent


def measure_whole(machine: Machine, rows: int, turns: int) -> dict[str, Any]:
    """Return the ratio of bare Spark's cost to that of a first merge. The first turn warms the server."""
    names = [f"whole{turn}" for turn in range(turns + 1)]
    lake = _lake(machine, "whole", names)
    found = []
    for turn, name in enumerate(names):
        table = _Table(machine, lake, name, rows if turn else max(1, rows // 10))
        paths = table.fill()
        if turn % 2:
            bare, ours = _bare(lake, paths, name), table.merge()
        else:
            ours, bare = table.merge(), _bare(lake, paths, name)
        table.check()
        found.append((bare, ours))
    counted = found[1:]
    return {
        "rows": rows,
        "ratio": _ratio([bare.seconds for bare, _ in counted], [ours.seconds for _, ours in counted]),
        "ratio_of_cpu": _ratio([bare.cpu for bare, _ in counted], [ours.cpu for _, ours in counted]),
        "bare": _costs(bare for bare, _ in counted),
        "ours": _costs(ours for _, ours in counted),
    }


def measure_changes(
    machine: Machine, instance: dg.DagsterInstance, sizes: dict[str, int], merges: int, many: int
) -> dict[str, Any]:
    """Return what materializations and merges of few keys cost, and merges of many keys into the large table."""
    lake = _lake(machine, "changes", list(sizes))
    tables = [_Table(machine, lake, name, rows) for name, rows in sizes.items()]
    found: dict[str, Any] = {}
    spent: dict[tuple[str, bool], list[Spent]] = {(table.name, runs): [] for table in tables for runs in (False, True)}
    for table in tables:
        table.fill()
        found[table.name] = {"rows": table.rows, "first": _costs([table.merge()])[0]}
    for place in range(2 * merges):
        for table in tables:
            runs = place % 2 == 1
            keys = min(_KEYS, table.rows // 6) // 100 * 100
            spent[table.name, runs].append(table.change(keys, instance if runs else None))
    for table in tables:
        found[table.name] |= {**_median(spent[table.name, False]), "jobs": table.jobs}
        found[table.name]["materialization"] = _median(spent[table.name, True])
        table.check()
    found["many"] = {"keys": many, **_median([tables[-1].change(min(many, sizes[_LARGE])) for _ in range(4)])}
    tables[-1].check()
    for name, part, whole in (("history_by_small", _HISTORY, _SMALL), ("large_by_small", _LARGE, _SMALL)):
        found[name] = round(found[part]["seconds"] / found[whole]["seconds"], 2)
        found[f"cpu_{name}"] = round(found[part]["cpu_seconds"] / found[whole]["cpu_seconds"], 2)
    return found


def _costs(spent: Iterable[Spent]) -> list[dict[str, float]]:
    return [{"seconds": cost.seconds, "cpu_seconds": cost.cpu} for cost in spent]


def _ratio(bare: Sequence[float], ours: Sequence[float]) -> float:
    return round(statistics.median(bare) / statistics.median(ours), 2)


def _median(spent: Sequence[Spent]) -> dict[str, float]:
    """Return the median cost of the later half of some merges. The earlier ones compile what these use."""
    warm = spent[len(spent) // 2 :]
    return {
        "seconds": statistics.median(cost.seconds for cost in warm),
        "cpu_seconds": statistics.median(cost.cpu for cost in warm),
    }


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merge", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", choices=["whole", "changes"], help="measure only this")
    parser.add_argument("--tiny", type=int, default=600, help="rows of the tiny table")
    parser.add_argument("--small", type=int, default=100_000, help="rows of the small table and of its history")
    parser.add_argument("--large", type=int, default=10_000_000, help="rows of the large table, and of a whole merge")
    parser.add_argument("--merges", type=int, default=6, help="materializations of each table, and as many merges")
    parser.add_argument("--many", type=int, default=50_000, help="keys of a large change")
    parser.add_argument("--turns", type=int, default=2, help="whole merges, and as many of bare Spark")
    chosen = parser.parse_args()
    found: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as home,
        Machine(Path(home)) as machine,
        dg.DagsterInstance.local_temp() as instance,
    ):
        if chosen.part != "changes":
            found["whole"] = measure_whole(machine, chosen.large, chosen.turns)
        if chosen.part != "whole":
            sizes = {_TINY: chosen.tiny, _SMALL: chosen.small, _HISTORY: chosen.small, _LARGE: chosen.large}
            found["changes"] = measure_changes(machine, instance, sizes, chosen.merges, chosen.many)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
