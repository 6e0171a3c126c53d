"""Forgetting one person: what is written again, and what it costs, in a table of many rows.

python -m benchmarks.forget [--rows N] [--held N]
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.support.arguments import arguments
from benchmarks.support.machine import Machine, spending
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.forgetting.bronze_rows import erase_from_bronze, held_files
from tidegate.platform.forgetting.forget import ask
from tidegate.platform.testing import TestLake

#: Rows of each file.
_FILE = 500_000
_PERSON = "person of the request"


def _put(lake: TestLake, first: int, rows: int, *, has_person: bool) -> None:
    ids = range(first, first + rows)
    who = [f"person {number % 999_983:06d}" for number in ids]
    if has_person:
        who[rows // 2] = _PERSON
    columns = {"id": pa.array(ids, pa.int64()), "who": who, "state": [f"state of {number:012d}" for number in ids]}
    body = io.BytesIO()
    pq.write_table(pa.table(columns), body)
    lake.put(f"orders/{first:012d}.parquet", body.getvalue())


def main() -> None:
    """Measure and print JSON."""
    chosen = arguments("forget", rows=10_000_000, held=1)
    table = {
        "name": "orders",
        "prefix": "orders/",
        "format": "parquet",
        "mode": "load",
        "personal": {"subject": "who"},
    }
    with tempfile.TemporaryDirectory() as home, Machine(Path(home)) as machine:
        secret = Path(home) / "secret"
        secret.write_text("the secret of a measurement")
        lake = machine.lake("forget", [table], forget={"secret": {"file": str(secret)}})
        for place, first in enumerate(range(0, chosen.rows, _FILE)):
            _put(lake, first, min(_FILE, chosen.rows - first), has_person=place < chosen.held)
            # A file a batch, so that a data file is no larger than the file that it came from.
            run_table(lake.lake.table(lake.key("orders")), RunOptions(run_id="bench", listing=True))
        with spending() as asked:
            ask(lake.lake, "person", [_PERSON], "bench")
        orders = lake.lake.table(lake.key("orders"))
        suppression = lake.lake.suppression(orders.spec)
        assert suppression is not None
        with spending() as searched:
            held = held_files(orders.spec, orders.birth, orders.delta, suppression)
        with spending() as spent:
            erased = erase_from_bronze(orders, suppression, "bench")
        assert erased.rows == sum(file.rows for file in held) == chosen.held, erased
        assert not held_files(orders.spec, orders.birth, orders.delta, suppression)
        (left,) = lake.sql("SELECT count(*) FROM bronze.orders")
        assert left[0] == chosen.rows - chosen.held, left
        print(f"  {erased}: {spent}", file=sys.stderr)
        found = {
            "rows": chosen.rows,
            "held": asdict(erased),
            "written_by_held": round(erased.written_bytes / erased.held_bytes, 3),
            "ask": asdict(asked),
            "search": asdict(searched),
            "erase": asdict(spent),
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
