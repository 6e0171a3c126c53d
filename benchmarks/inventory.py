"""The table of inventories: deliveries of many buckets replace their partitions, compared with bare Spark.

Ours is the whole run, from step 1 (look) to the ledger: manifests and files are proved by MD5, the rows are written,
and the rows of the delivery before are replaced in one commit. Bare Spark reads the same Parquet files and overwrites
the same partitions of a Delta table of its own (`partitionOverwriteMode=dynamic`). Both have the rows of an earlier
delivery already. Both take turns for some days. `ratio` is bare Spark's seconds divided by ours, and `ratio_of_cpu` its
CPU seconds, of all days together.

Afterwards the cost report groups all rows, and one more day shows the greatest memory while it is taken in: that of the
processes, and that of the server's live objects. `before` is the memory just before that day.

    python -m benchmarks.inventory [--buckets 40] [--rows 250000] [--days 2]
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.support.arguments import arguments
from benchmarks.support.machine import Machine, Spent, announce, spending
from tests.support.lakes.inventory import COLUMNS, Delivery, delivery_of
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.core.storage.cost import OF
from tidegate.platform.inventory.stored_objects import stored_objects, sums_of_all
from tidegate.platform.testing import TestLake

_FIELDS = ("Bucket", "Key", "Size", "LastModifiedDate", "ETag", "StorageClass")
_FIRST, _DAY = 1_790_000_000, 86_400
_TABLE = {"name": "objects", "prefix": "inventory/", "mode": "inventory"}


def _file(bucket: str, rows: int) -> bytes:
    """Return the inventory of a bucket with files by day and hour, in one Parquet file."""
    numbers = np.arange(rows)
    texts = pc.cast(pa.array(numbers), pa.string())
    values = {
        "Bucket": pa.array([bucket]).take(pa.array(np.zeros(rows, np.int64))),
        "Key": pc.binary_join_element_wise(
            "events/day=", pc.cast(pa.array(numbers % 365), pa.string()), "/part-", texts, ""
        ),
        "Size": pa.array(numbers * 7919 % 5_000_000),
        "LastModifiedDate": pa.array(numbers * 1000 + _FIRST * 1000, pa.timestamp("ms", "UTC")),
        "ETag": pc.binary_join_element_wise("d41d8cd98f00b204e9800998ecf8", texts, ""),
        "StorageClass": pa.array(["STANDARD", "GLACIER"]).take(pa.array(numbers % 2)),
    }
    target = io.BytesIO()
    schema = pa.schema([COLUMNS[name] for name in _FIELDS])
    pq.write_table(pa.table([values[name] for name in _FIELDS], schema=schema), target)
    return target.getvalue()


def _deliver(lake: TestLake, buckets: int, rows: int, day: int) -> list[Delivery]:
    found = []
    for number in range(buckets):
        source = f"acme-{number:04d}"
        prefix = f"inventory/{source}/daily/"
        body = _file(source, rows)
        created = _FIRST + day * _DAY
        delivery = delivery_of([body], _FIELDS, prefix=prefix, source=source, created=created, format="Parquet")
        delivery.put(lake.clients.s3, lake.bucket)
        found.append(delivery)
    return found


def _ours(lake: TestLake, deliveries: list[Delivery], rows: int) -> Spent:
    announce(lake, "objects", [delivery.checksum for delivery in deliveries])
    with spending() as spent:
        done = run_table(lake.lake.table(lake.key("objects")), RunOptions(run_id="bench"))
    assert sum(add.records for result in done for add in result.batch.adds) == rows
    return spent


def _bare(lake: TestLake, deliveries: list[Delivery]) -> Spent:
    session, to = lake.lake.delta.session, f"s3a://{lake.lake_bucket}/bare"
    with spending() as spent:
        paths = [f"s3a://{lake.bucket}/{key}" for delivery in deliveries for key in delivery.data]
        rows = session.read.parquet(*paths).selectExpr("*", "'daily' AS configuration")
        (
            rows.write.format("delta")
            .partitionBy("bucket", "configuration")
            .mode("overwrite")
            .option("partitionOverwriteMode", "dynamic")
            .save(to)
        )
    return spent


def _cost_report(lake: TestLake, rows: int) -> Spent:
    with spending() as spent:
        sums, _ = sums_of_all(stored_objects(lake.lake, lake.key("objects")), OF, 1)
    assert sum(each.objects for each in sums) == rows
    return spent


def measure(machine: Machine, buckets: int, rows: int, days: int) -> dict[str, Any]:
    """Return seconds, CPU seconds and the ratios."""
    lake = machine.lake("inventories", [_TABLE])
    ours, bare = [], []
    for day in range(-1, days + 1):
        # The first day compiles what the others use, and the second one replaces little.
        size = 1_000 if day < 0 else rows
        deliveries = _deliver(lake, buckets, size, day + 1)
        spent = _bare(lake, deliveries), _ours(lake, deliveries, buckets * size)
        print(f"  day {day}: bare {spent[0]}, ours {spent[1]}", file=sys.stderr)
        if day > 0:
            bare.append(spent[0])
            ours.append(spent[1])
    reports = [_cost_report(lake, buckets * rows) for _ in range(2)]  # the first one compiles
    deliveries, before = _deliver(lake, buckets, rows, days + 2), machine.megabytes()
    with machine.peak() as peak:
        _ours(lake, deliveries, buckets * rows)
    return {
        "buckets": buckets,
        "rows": buckets * rows,
        "load": os.getloadavg(),
        "ours": [asdict(spent) for spent in ours],
        "bare": [asdict(spent) for spent in bare],
        "cost_report": asdict(reports[-1]),
        "megabytes": {"before": before, "peak": peak},
        "ratio": round(sum(spent.seconds for spent in bare) / sum(spent.seconds for spent in ours), 2),
        "ratio_of_cpu": round(sum(spent.cpu for spent in bare) / sum(spent.cpu for spent in ours), 2),
    }


def main() -> None:
    """Measure and print JSON."""
    chosen = arguments("inventory", buckets=40, rows=250_000, days=2)
    with tempfile.TemporaryDirectory() as home, Machine(Path(home)) as machine:
        print(json.dumps(measure(machine, chosen.buckets, chosen.rows, chosen.days), indent=2))


if __name__ == "__main__":
    main()
