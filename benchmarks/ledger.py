"""Reads of large ledgers: the header and the last states of some keys, compared with a small ledger.

A ledger gets its rows by SQL, in the form that appends and their merges leave: files of 4,000 rows, each sorted by key.
The keys of one ledger start with a date, so its newest files have the newest keys. The keys of another have no order in
time, so each file may contain any key. Each read asks for the header of the last batch and for keys of earlier batches,
with other keys each time; keys with dates are the newest. The reads are repeated after `OPTIMIZE`, which clusters rows
by key. Prints JSON.

    python -m benchmarks.ledger [--small 100000] [--large 2000000]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.support.arguments import arguments
from benchmarks.support.machine import Machine, Spent, spending
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.lake.ledger import Ledger
from tidegate.platform.lake.spark.session import command
from tidegate.platform.testing import TestLake

#: Rows of about 256 KiB. Appends do not merge larger files (decision 48).
_FILE = 4_000
#: Keys of one read.
_ASKED = (1, 100, 1_000)
_LOOKS = 5
#: SQL of the names of objects, by their number.
_KEYS = {
    "dated": "concat('many/', lpad(id, 12, '0'), '.json')",
    "random": "concat('many/', sha1(cast(id AS STRING)), '.json')",
}


def _fill(lake: TestLake, ledger: Ledger, rows: int, key: str) -> None:
    parted = "REPARTITION_BY_RANGE" if key == _KEYS["dated"] else "REPARTITION"
    query = (
        f"INSERT INTO delta.`{ledger.location}` (kind, n, run_id, bronze_version, recorded_at, position, key, status, "
        "etag, size, event_id, event_name, event_time, rows) "
        f"SELECT /*+ {parted}({max(1, rows // _FILE)}, id) */ "
        f"'row', id DIV 1000 - {rows}, 'bench', 1, current_timestamp(), cast(id AS INT), {key}, "
        "'committed', md5(cast(id AS STRING)), 1000, uuid(), 'ObjectCreated:Put', current_timestamp(), 10 "
        f"FROM range({rows})"
    )
    command(lake.lake.delta.session, query)


def _looked(lake: TestLake, ledger: Ledger, rows: int, key: str) -> dict[str, Any]:
    """Return medians by the number of keys."""
    version, n = ledger.clock()
    step, found = iter(range(1, rows)), {}
    for asked in _ASKED:
        looks: list[Spent] = []
        for _ in range(_LOOKS):
            ids = [rows - next(step) for _ in range(asked)]
            keys = [row["key"] for row in lake.sql(f"SELECT {key} AS key FROM VALUES {_values(ids)} AS t(id)")]
            with spending() as spent:
                header, states = ledger.memory(version, n, keys)
            assert header is not None
            assert len(states) == len(set(keys)), (len(states), asked)
            looks.append(spent)
        middle = sorted(looks, key=lambda spent: spent.cpu)[_LOOKS // 2]
        found[str(asked)] = {"seconds": middle.seconds, "cpu_seconds": middle.cpu}
    return found


def _values(ids: list[int]) -> str:
    return ", ".join(f"({number})" for number in ids)


def _measured(lake: TestLake, table: str, rows: int, key: str) -> dict[str, Any]:
    lake.put(f"{table}/first.json", b'{"id": 1}\n')
    (done,) = run_table(lake.lake.table(lake.key(table)), RunOptions(run_id="bench", listing=True))
    assert done.landed.outcome == "committed"
    ledger = lake.lake.table(lake.key(table)).ledger
    _fill(lake, ledger, rows, key)
    print(f"  {table}: {rows} rows are there", file=sys.stderr)
    appended = _looked(lake, ledger, rows, key)
    with spending() as clustering:
        command(lake.lake.delta.session, f"OPTIMIZE delta.`{ledger.location}`")
    return {
        "rows": rows,
        "appended": appended,
        "clustered": _looked(lake, ledger, rows, key),
        "clustering": {"seconds": clustering.seconds, "cpu_seconds": clustering.cpu},
    }


def main() -> None:
    """Measure and print JSON."""
    chosen = vars(arguments("ledger", small=100_000, large=2_000_000))
    asked = {f"{kind}_{size}": (rows, key) for kind, key in _KEYS.items() for size, rows in chosen.items()}
    tables = [{"name": name, "prefix": f"{name}/", "format": "json"} for name in asked]
    with tempfile.TemporaryDirectory(prefix="tg") as home, Machine(Path(home)) as machine:
        lake = machine.lake("ledger", tables)
        found: dict[str, Any] = {name: _measured(lake, name, rows, key) for name, (rows, key) in asked.items()}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
