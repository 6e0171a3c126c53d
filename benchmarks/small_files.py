"""Small files: files of ten rows, compared with bare Spark, Structured Streaming and delta-rs on the same files.

Ours is the whole run, from step 1 (look) to the ledger: the first load of a table with configured columns, the first
load with inferred columns, and a load into an existing table. Bare Spark reads with the schema, or infers it, and
appends. Structured Streaming does so with its file source and `availableNow`. delta-rs is one process with PyArrow
(`delta_rs_load`). `ratio` is their seconds divided by ours. CPU seconds per thousand files are those of all processes
except the local AWS.

`--waiting` measures the memory of client and server instead, while one run after another takes its batches from that
number of waiting files, of the first kind or of `--only`.

    python -m benchmarks.small_files [--files 10000] [--only json] [--waiting 100000]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.support.machine import Machine, Spent, announce, spending
from tests.support.plugins.costs import cpu_seconds
from tidegate.platform.bronze.listener import LogListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.testing import TestLake

_COLUMNS = {"id": "bigint", "name": "string", "price": "double", "at": "timestamp"}
_SCHEMA = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
_ROWS = 10
#: The measured kinds: the ending of the file names, and the function that makes a body from rows.
KINDS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "json": lambda rows: "".join(f"{json.dumps(row)}\n" for row in rows).encode(),
    "csv": lambda rows: "\n".join(
        [",".join(_COLUMNS), *(",".join(str(cell) for cell in row.values()) for row in rows), ""]
    ).encode(),
    "json.gz": lambda rows: gzip.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode()),
}


def _body(kind: str, number: int) -> bytes:
    chance = random.Random(number)
    return KINDS[kind](
        [
            {
                "id": number * _ROWS + n,
                "name": f"customer {chance.randrange(1_000_000)}",
                "price": round(chance.random() * 1000, 2),
                "at": f"2026-01-{1 + n:02d}T12:30:{n:02d}Z",
            }
            for n in range(_ROWS)
        ]
    )


def put_files(lake: TestLake, folder: str, kind: str, first: int, files: int) -> list[str]:
    """Put files of ten rows. Returns their keys."""
    keys = [f"{folder}/{number:07d}.{kind}" for number in range(first, first + files)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: lake.put(key, _body(kind, int(key[-8 - len(kind) : -1 - len(kind)]))), keys))
    return keys


def _ours(machine: Machine, lake: TestLake, table: str, keys: list[str]) -> dict[str, Any]:
    announce(lake, table, keys)
    assert machine.aws.process is not None
    aws = machine.aws.process.pid
    before = cpu_seconds(aws)
    with spending() as spent:
        done = run_table(lake.lake.table(lake.key(table)), RunOptions(run_id="bench"))
    assert [result.landed.outcome for result in done] == ["committed"], done
    assert sum(add.rows or 0 for add in done[0].batch.rows) == len(keys) * _ROWS
    own = spent.cpu - (cpu_seconds(aws) - before)
    return {**asdict(spent), "cpu_a_thousand_files": round(own / len(keys) * 1000, 2)}


def _bare(lake: TestLake, kind: str, folder: str, to: str, infer: bool) -> Spent:
    reader = lake.lake.delta.session.read
    if not infer:
        reader = reader.schema(_SCHEMA)
    path = f"s3a://{lake.bucket}/{folder}/"
    with spending() as spent:
        frame = reader.csv(path, header=True, inferSchema=infer) if kind == "csv" else reader.json(path)
        frame.write.format("delta").mode("append").save(f"s3a://{lake.lake_bucket}/bare/{to}")
    return spent


def _streaming(lake: TestLake, kind: str, folder: str) -> Spent:
    session = lake.lake.delta.session
    reader = session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1_000_000)
    path, to = f"s3a://{lake.bucket}/{folder}/", f"s3a://{lake.lake_bucket}/streamed/{folder}"
    with spending() as spent:
        frame = reader.option("header", True).csv(path) if kind == "csv" else reader.json(path)
        writer = frame.writeStream.format("delta").trigger(availableNow=True)
        query = writer.option("checkpointLocation", f"{to}-checkpoint").start(to)
        if not query.awaitTermination(900):
            query.stop()
            raise TimeoutError("the stream did not end within 900 seconds")
    return spent


def _delta_rs(machine: Machine, lake: TestLake, kind: str, folder: str) -> dict[str, float]:
    table = f"s3://{lake.lake_bucket}/delta-rs/{folder}"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.support.delta_rs_load", lake.bucket, folder, kind, table],
        env={**os.environ, **machine.aws.environ},
        stdout=subprocess.PIPE,
        check=True,
        timeout=900,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    assert figures.pop("rows") > 0
    return {name: round(value, 2) for name, value in figures.items()}


def measure(machine: Machine, kinds: list[str], files: int) -> dict[str, Any]:
    """Return seconds, CPU seconds and ratios by kind of file."""
    tables = [
        {"name": f"{kind.replace('.', '_')}_{how}", "prefix": f"{kind}_{how}/", "format": kind.split(".")[0], **options}
        for kind in kinds
        for how, options in (("configured", {"columns": _COLUMNS}), ("inferred", {}), ("warm", {}))
    ]
    lake = machine.lake("small", [{"max_files": files, **table} for table in tables])
    found: dict[str, Any] = {"files": files, "rows_a_file": _ROWS}
    for kind in kinds:
        name = kind.replace(".", "_")
        _ours(machine, lake, f"{name}_warm", put_files(lake, f"{kind}_warm", kind, 0, 100))
        _bare(lake, kind, f"{kind}_warm", f"{name}_warm", infer=False)
        keys = put_files(lake, f"{kind}_configured", kind, 0, files)
        bare = _bare(lake, kind, f"{kind}_configured", f"{name}_bare", infer=False)
        figures = {"bare": asdict(bare), "streaming": asdict(_streaming(lake, kind, f"{kind}_configured"))}
        figures["delta-rs"] = _delta_rs(machine, lake, kind, f"{kind}_configured")
        figures["first load, configured"] = _ours(machine, lake, f"{name}_configured", keys)
        later = put_files(lake, f"{kind}_configured", kind, files, files)
        figures["later load"] = _ours(machine, lake, f"{name}_configured", later)
        keys = put_files(lake, f"{kind}_inferred", kind, 0, files)
        inferring = _bare(lake, kind, f"{kind}_inferred", f"{name}_inferred", infer=True)
        figures["bare, inferred"] = asdict(inferring)
        figures["first load, inferred"] = _ours(machine, lake, f"{name}_inferred", keys)
        figures["ratios"] = {
            "bare by first load, configured": _ratio(bare.seconds, figures["first load, configured"]),
            "bare by later load": _ratio(bare.seconds, figures["later load"]),
            "bare by first load, inferred": _ratio(inferring.seconds, figures["first load, inferred"]),
            "streaming by later load": _ratio(figures["streaming"]["seconds"], figures["later load"]),
            "delta-rs by first load, configured": _ratio(
                figures["delta-rs"]["seconds"], figures["first load, configured"]
            ),
        }
        print(f"{kind}: {json.dumps(figures)}", file=sys.stderr)
        found[kind] = figures
    return found


def memory(machine: Machine, kind: str, files: int) -> dict[str, Any]:
    """Return the megabytes of client and server after each batch, while `files` files wait at the start."""
    columns: dict[str, Any] = {"format": kind.split(".")[0], "columns": _COLUMNS}
    lake = machine.lake("waiting", [{"name": "waiting", "prefix": "waiting/", **columns}])
    keys = put_files(lake, "waiting", kind, 0, files)
    for first in range(0, files, 1000):
        announce(lake, "waiting", keys[first : first + 1000])
    held: list[dict[str, int]] = []

    def weigh(line: str) -> None:
        if "committed as" in line:
            held.append(machine.megabytes())

    rows = 0
    while rows < files * _ROWS:
        done = run_table(lake.lake.table(lake.key("waiting")), RunOptions(run_id="bench"), LogListener(weigh))
        assert done, f"{rows} rows of {files} files arrived, and no more"
        rows += sum(add.rows or 0 for result in done for add in result.batch.rows)
    return {"files": files, "batches": len(held), "megabytes_after_each_batch": held}


def _ratio(theirs: float, ours: dict[str, Any]) -> float:
    return round(theirs / ours["seconds"], 2)


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--only", choices=list(KINDS), help="one kind of file")
    parser.add_argument("--waiting", type=int, help="number of waiting files; measures memory only")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, Machine(Path(home)) as machine:
        kinds = [chosen.only] if chosen.only else list(KINDS)
        if chosen.waiting:
            print(json.dumps(memory(machine, kinds[0], chosen.waiting), indent=2))
            return
        print(json.dumps(measure(machine, kinds, chosen.files), indent=2))


if __name__ == "__main__":
    main()
