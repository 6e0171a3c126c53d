"""A whole lake as a version left it: every object of its buckets, and its entries of the commit table, in one archive.

`python -m tests.support.lakes.kept_lake` writes that of this version, `tests/samples/lakes/<version>.zip`, before a
release. An archive of an earlier version is never changed.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.lakes.samples import FOLDER
from tests.support.lakes.seams import dying_at, seams_watched
from tidegate import __version__
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.cloud.commit_table import CommitTable
from tidegate.platform.local.spark.conf import SMALL_DATA
from tidegate.platform.local.stack import LocalStack
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

LAKES = FOLDER / "lakes"
#: Part of the names of the buckets, which are in the objects.
NAME = "of-a-release"
TABLES: list[dict[str, Any]] = [
    {"name": "files", "prefix": "files/", "format": "parquet", "mode": "register"},
    {"name": "orders", "prefix": "orders/", "format": "json", "silver": {"keys": ["id"], "order": "at", "every": 10}},
    {"name": "cells", "prefix": "cells/", "format": "csv", "columns": {"id": "int", "v": "string"}},
]
#: The rows that the lake has, or has decided to have, by table.
FILES = [(1,), (2,)]
ORDERS, SILVER = [(1, 1), (1, 2), (2, 1), (3, 1)], [(1, 2), (2, 1), (3, 1)]
CELLS = [(1, "a"), (2, "b")]
#: The table of which a run died after it had decided a batch, and the one with a hint in its inbox.
DECIDED, WAITING = "cells", "files"


def write(lake: TestLake) -> None:
    """Do what leaves each kind of object: several batches, quarantine, a merge, a decided batch, and a waiting hint."""

    def run(name: str) -> None:
        run_table(lake.lake.table(lake.key(name)), RunOptions(run_id="kept", listing=False))

    lake.put("files/1.parquet", _parquet(1))
    lake.put("files/gone.parquet", _parquet(9))
    lake.put("orders/1.json", '{"id": 1, "at": 1}\n{"id": 2, "at": 1}\nno JSON\n')
    lake.put("orders/bad.json", b"\xff\xfe")
    lake.put("cells/1.csv", "id,v\n1,a\n")
    lake.intake()
    for name in ("files", "orders", "cells"):
        run(name)
    merge_table(lake.lake, lake.spec("orders"))
    lake.delete("files/gone.parquet")
    lake.put("orders/2.json", '{"id": 1, "at": 2}\n{"id": 3, "at": 1}\n')
    lake.put("cells/2.csv", "id,v\n2,b\n")
    lake.intake()
    for name in ("files", "orders"):
        run(name)
    merge_table(lake.lake, lake.spec("orders"))
    with seams_watched(), dying_at("decide"):
        run("cells")
    lake.put("files/2.parquet", _parquet(2))
    lake.intake()


def pack(lake: TestLake) -> bytes:
    """Return the archive of a lake."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for bucket in (lake.bucket, lake.lake_bucket):
            pages = lake.clients.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
            for key in sorted(item["Key"] for page in pages for item in page.get("Contents", [])):
                body = lake.clients.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
                archive.writestr(zipfile.ZipInfo(f"{bucket}/{key}"), body, zipfile.ZIP_DEFLATED, 9)
        items = lake.clients.dynamodb.scan(TableName=CommitTable().name)["Items"]
        ours = [item for item in items if NAME in item["tablePath"]["S"]]
        archive.writestr(zipfile.ZipInfo("entries.json"), json.dumps(ours), zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def unpack(lake: TestLake, path: Path) -> None:
    """Put what an archive has into the buckets and the commit table of a lake with its names."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            bucket, _, key = name.partition("/")
            if key:
                lake.clients.s3.put_object(Bucket=bucket, Key=key, Body=archive.read(name))
        for item in json.loads(archive.read("entries.json")):
            lake.clients.dynamodb.put_item(TableName=CommitTable().name, Item=item)


def _parquet(id: int) -> bytes:
    body = io.BytesIO()
    pq.write_table(pa.table({"id": [id]}), body)
    return body.getvalue()


def main() -> None:
    """Write the archive of this version."""
    with tempfile.TemporaryDirectory(prefix="tidegate-kept-") as folder:
        home = Path(folder)
        with LocalStack(home / "stack", aws_port=0, spark_port=0, spark_conf=SMALL_DATA) as stack:
            lake = TestLake(stack, home, NAME, TABLES, {"discovery": False})
            try:
                write(lake)
                body = pack(lake)
            finally:
                lake.lake.delta.session.stop()
    LAKES.mkdir(exist_ok=True)
    (path := LAKES / f"{__version__}.zip").write_bytes(body)
    print(f"{path}: {len(body) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
