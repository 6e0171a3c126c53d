"""Outputs: small objects of ten rows become objects by day, compared with bare Spark on the same objects.

Ours is the whole run, from step 1 (look) to the ledger. Bare Spark reads the objects as lines, takes the day out of
each line with `get_json_object`, and writes gzip by `partitionBy`: like our output, it converts no value. It gathers
the lines of a day in one task before, so that it writes as few objects as ours. Without that, each task writes an
object a day: thousands, which no reader wants and which take longer. `ratio` is its seconds divided by ours, and
`ratio_of_cpu` its CPU seconds.

    python -m benchmarks.repartition [--files 10000]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.small_files import put_files
from benchmarks.support.machine import Machine, Spent, announce, spending
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.testing import TestLake

_ROWS = 10


def _table(name: str, files: int) -> dict[str, Any]:
    output = {"folder": f"{name}/day={{at:date}}/"}
    prefix = f"{name}/"
    return {
        "name": name, "prefix": prefix, "format": "json", "mode": "repartition", "output": output, "max_files": files
    }  # fmt: skip


def _ours(lake: TestLake, table: str, keys: list[str]) -> tuple[Spent, int]:
    announce(lake, table, keys)
    with spending() as spent:
        done = run_table(lake.lake.table(lake.key(table)), RunOptions(run_id="bench"))
    objects = [item for result in done for item in result.batch.objects]
    assert sum(item.rows for item in objects) == len(keys) * _ROWS
    return spent, len(objects)


def _bare(lake: TestLake, folder: str) -> Spent:
    session, to = lake.lake.delta.session, f"s3a://{lake.output_bucket}/bare/{folder}"
    with spending() as spent:
        lines = session.read.text(f"s3a://{lake.bucket}/{folder}/")
        dated = lines.selectExpr("value", "substr(get_json_object(value, '$.at'), 1, 10) AS day")
        dated.repartition("day").write.partitionBy("day").option("compression", "gzip").text(to)
    return spent


def measure(machine: Machine, files: int) -> dict[str, Any]:
    """Return seconds, CPU seconds and the ratio."""
    lake = machine.lake("outputs", [_table(name, files) for name in ("warm", "cold")])
    _ours(lake, "warm", put_files(lake, "warm", "json", 0, 100))
    _bare(lake, "warm")
    keys = put_files(lake, "cold", "json", 0, files)
    bare = _bare(lake, "cold")
    ours, objects = _ours(lake, "cold", keys)
    return {
        "files": files,
        "objects": objects,
        "ours": asdict(ours),
        "bare": asdict(bare),
        "ratio": round(bare.seconds / ours.seconds, 2),
        "ratio_of_cpu": round(bare.cpu / ours.cpu, 2),
    }


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, Machine(Path(home)) as machine:
        print(json.dumps(measure(machine, chosen.files), indent=2))


if __name__ == "__main__":
    main()
