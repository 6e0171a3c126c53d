"""Load of clean rows, and of rows with one bad row in a hundred, compared with bare Spark on the same files and server.

Bare Spark reads with a given schema and appends to a Delta table; a first load is compared with bare Spark that infers
the schema. Clean rows are loaded twice before the measurement, so that the server is warm for both. The data are the
same each time. JSON objects that become VARIANTs are compared with bare Spark's `parse_json`. Ours is the whole run,
from step 1 (look) to the ledger; `loading` is the part up to the commit.

    python -m benchmarks.load [--rows 1000000] [--files 20] [--megabytes 256] [--only variant]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.support.machine import Machine, Spent, announce, spending
from tidegate.platform.bronze.listener import LogListener
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.testing import TestLake

_COLUMNS = (
    "id bigint, customer bigint, name string, city string, price double, quantity bigint, paid boolean, at timestamp"
)
_NAMES = _COLUMNS.replace(" bigint", "").replace(" string", "").replace(" double", "").replace(" boolean", "")
_HEADER = _NAMES.replace(" timestamp", "").replace(", ", ",")
_DECLARED = dict(part.split(" ") for part in _COLUMNS.split(", "))
_CITIES = ("Bergen", "Córdoba", "Nagoya", "Tromsø", "Valparaíso")
FORMATS = ("json", "csv")


def _rows(count: int, seed: int) -> Iterator[tuple[Any, ...]]:
    chance = random.Random(seed)
    for n in range(count):
        day, second = 1 + n % 28, n % 60
        yield (
            seed * 10_000_000 + n,
            chance.randrange(100_000),
            f"customer {chance.randrange(1_000_000)}",
            _CITIES[n % 5],
            round(chance.random() * 1000, 2),
            chance.randrange(10),
            n % 3 == 0,
            f"2026-01-{day:02d}T12:30:{second:02d}Z",
        )


def _body(form: str, rows: Iterable[tuple[Any, ...]], *, bad: bool = False) -> bytes:
    names = _HEADER.split(",")
    lines = [] if form == "json" else [_HEADER]
    for n, row in enumerate(rows):
        spoiled = ("no number", *row[1:]) if bad and n % 100 == 50 else row
        if form == "json":
            lines.append(json.dumps(dict(zip(names, spoiled, strict=True)), ensure_ascii=False))
        else:
            lines.append(",".join(str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in spoiled))
    return "\n".join([*lines, ""]).encode()


def _put(lake: TestLake, folder: str, form: str, rows: int, files: int, *, seed: int, bad: bool = False) -> list[str]:
    keys = []
    for part in range(files):
        key = f"{folder}/{seed}-{part}.{form}"
        lake.put(key, _body(form, _rows(rows // files, seed * 100 + part), bad=bad))
        keys.append(key)
    announce(lake, folder, keys)
    return [f"s3a://{lake.bucket}/{key}" for key in keys]


def _bare(lake: TestLake, form: str, paths: list[str], to: str, *, infer: bool = False) -> Spent:
    reader = lake.lake.delta.session.read
    if not infer:
        reader = reader.schema(_COLUMNS)
    with spending() as spent:
        frame = reader.json(paths) if form == "json" else reader.csv(paths, header=True, inferSchema=infer)
        frame.write.format("delta").mode("append").save(f"s3a://{lake.lake_bucket}/bare/{to}")
    return spent


def _ours(lake: TestLake, table: str) -> Spent:
    lines: list[tuple[str, float]] = []
    listener = LogListener(lambda line: lines.append((line, monotonic())))
    with spending() as spent:
        done = run_table(
            lake.lake.table(lake.key(table)),
            RunOptions(run_id="bench"),
            listener,
        )
    looked, committed = ([at for line, at in lines if word in line] for word in ("objects to add", "committed as"))
    spent.loading = round(committed[0] - looked[0], 2)
    assert [result.landed.outcome for result in done] == ["committed"], done
    return spent


def _compared(bare: Spent, ours: Spent) -> dict[str, Any]:
    compared = {
        "ratio": round(bare.seconds / ours.seconds, 2),
        "ratio_of_cpu": round(bare.cpu / ours.cpu, 2),
        "ratio_to_the_loading": round(bare.seconds / ours.loading, 2),
        "bare": asdict(bare),
        "ours": asdict(ours),
    }
    print(f"  {compared}", file=sys.stderr)
    return compared


def _small(machine: Machine, lake: TestLake, form: str) -> dict[str, Any]:
    """Measure a run of one file of ten rows, into a table that was loaded before."""
    _put(lake, f"{form}_declared", form, 10, 1, seed=5)
    client = _CountedCalls(lake)
    before = machine.jobs()
    ours = _ours(lake, f"{form}_declared")
    return {"jobs": machine.jobs() - before, "connect_calls": client.stop(), **asdict(ours)}


class _CountedCalls:
    """Counts the calls of the Spark server."""

    def __init__(self, lake: TestLake) -> None:
        self._client = lake.lake.delta.session.client
        self._stub, self._made = self._client._stub, Counter[str]()
        self._client._stub = self

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._stub, name)

        def counted(*args: Any, **options: Any) -> Any:
            self._made[name] += 1
            return call(*args, **options)

        return counted

    def stop(self) -> dict[str, int]:
        """Return the calls by name."""
        self._client._stub = self._stub
        return dict(self._made)


def _drifting(rows: Iterable[tuple[Any, ...]]) -> bytes:
    """Return objects of which each has another type of price than the one before, and every third has more fields."""
    names = _HEADER.split(",")
    lines = []
    for n, row in enumerate(rows):
        event = dict(zip(names, row, strict=True))
        price = event["price"]
        event["price"] = (price, f"{price} EUR", {"amount": price, "currency": "EUR"})[n % 3]
        if n % 3 == 2:
            event["tags"] = ["new", n, {"deep": None}]
        lines.append(json.dumps(event, ensure_ascii=False))
    return "\n".join([*lines, ""]).encode()


def _variants(machine: Machine, rows: int, files: int) -> dict[str, Any]:
    """Measure objects that become VARIANTs: alone, and with two columns of their own."""
    two = {"id": "bigint", "at": "timestamp"}
    kinds = {"whole": {}, "columns": two}
    tables = [
        {"name": name, "prefix": f"{name}/", "format": "json", "schema": "variant", "columns": columns}
        for name, columns in kinds.items()
    ]
    lake = machine.lake("variant", tables)
    found = {}
    for name, columns in kinds.items():
        for seed, share in ((1, 10), (2, 1), (3, 1)):
            keys = [f"{name}/{seed}-{part}.json" for part in range(files)]
            for part, key in enumerate(keys):
                lake.put(key, _drifting(_rows(rows // share // files, seed * 100 + part)))
            announce(lake, name, keys)
            with spending() as bare:
                lines = lake.lake.delta.session.read.text([f"s3a://{lake.bucket}/{key}" for key in keys])
                own = [f"variant_get(data, '$.{column}', '{kind}') AS {column}" for column, kind in columns.items()]
                frame = lines.selectExpr("parse_json(value) AS data").selectExpr(*own, "data")
                frame.write.format("delta").mode("append").save(f"s3a://{lake.lake_bucket}/bare/{name}")
            ours = _ours(lake, name)
        found[f"variant, {name}"] = _compared(bare, ours)
    return found


def measure(machine: Machine, rows: int, files: int, megabytes: int) -> dict[str, Any]:
    """Return the ratios of bare Spark's seconds to ours, by format."""
    found: dict[str, Any] = {"rows": rows, "files": files, **_variants(machine, rows, files)}
    tables = [
        {"name": f"{form}_{kind}", "prefix": f"{form}_{kind}/", "format": form, **options}
        for form in FORMATS
        for kind, options in (("declared", {"columns": _DECLARED}), ("born", {"columns": _DECLARED}), ("first", {}))
    ]
    lake = machine.lake("load", tables)
    for form in FORMATS:
        table = f"{form}_declared"
        for seed, share in ((1, 10), (2, 1), (6, 1)):
            paths = _put(lake, table, form, rows // share, files, seed=seed)
            bare = _bare(lake, form, paths, table)
            ours = _ours(lake, table)
        found[f"{form}, clean"] = _compared(bare, ours)
        paths = _put(lake, f"{form}_born", form, rows, files, seed=7)
        found[f"{form}, first, configured"] = _compared(
            _bare(lake, form, paths, f"{form}_born"), _ours(lake, f"{form}_born")
        )
        found[f"{form}, ten rows"] = _small(machine, lake, form)
        paths = _put(lake, table, form, rows, files, seed=3, bad=True)
        found[f"{form}, 1 % bad"] = _compared(_bare(lake, form, paths, f"{table}_bad"), _ours(lake, table))
        paths = _put(lake, f"{form}_first", form, rows, files, seed=4)
        found[f"{form}, first, inferred"] = _compared(
            _bare(lake, form, paths, f"{form}_first", infer=True), _ours(lake, f"{form}_first")
        )
    found["csv, one large file"] = _large(machine, lake, megabytes)
    return found


def _large(machine: Machine, lake: TestLake, megabytes: int) -> dict[str, Any]:
    """Measure one large file on all cores."""
    part = _body("csv", _rows(50_000, 9)).split(b"\n", 1)[1]
    large = machine.home / "large.csv"
    with large.open("wb") as file:
        file.write(_HEADER.encode() + b"\n")
        for _ in range(max(1, (megabytes << 20) // len(part))):
            file.write(part)
    key = "csv_declared/large.csv"
    lake.clients.s3.upload_file(str(large), lake.bucket, key)
    announce(lake, "csv_declared", [key])
    bare = _bare(lake, "csv", [f"s3a://{lake.bucket}/{key}"], "large")
    return {"megabytes": megabytes, **_compared(bare, _ours(lake, "csv_declared"))}


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--megabytes", type=int, default=256, help="size of the one large CSV file")
    parser.add_argument("--only", choices=["variant"], help="measure only these")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, Machine(Path(home)) as machine:
        if chosen.only:
            print(json.dumps(_variants(machine, chosen.rows, chosen.files), indent=2))
        else:
            print(json.dumps(measure(machine, chosen.rows, chosen.files, chosen.megabytes), indent=2))


if __name__ == "__main__":
    main()
