"""Requests to find the files of a large table that no version needs: by a listing, and by a table of inventories.

The table has most of its files in its log, in a hundred folders. The rest is left over. Both ways are dry runs of
maintenance's own function, so they find the same files. Starts its own local AWS, a counting proxy in front of it and
a Spark server, and prints JSON. Requests are those of Spark and of this process together.

    python -m benchmarks.vacuum [--files 100000] [--left 1000]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.support.servers.fault_proxy import FaultProxy
from tidegate.platform.lake.aws.s3 import ObjectStore
from tidegate.platform.lake.inventory.folder import (
    folder_inventories,
    folder_objects,
    newest_usable_inventory,
    vacuum_inventory,
)
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.local.aws import REGION, LocalAws
from tidegate.platform.local.provision import Clients
from tidegate.platform.local.spark.server import SparkServer
from tidegate.platform.maintenance.vacuum import vacuum

BUCKET, FOLDER = "bench", "lake/silver/large/"
_TABLE, _INVENTORIES = f"s3a://{BUCKET}/{FOLDER.rstrip('/')}", f"s3a://{BUCKET}/lake/bronze/inventories"
_FOLDERS = 100


def _name(number: int) -> str:
    return f"day={number % _FOLDERS}/part-{number:07}.parquet"


def _make_table(s3: Any, files: int, left: int) -> None:
    """Put the objects, and a log with all of them but those that are left over."""
    schema = [{"name": name, "type": "integer", "nullable": True, "metadata": {}} for name in ("id", "day")]
    metadata = {
        "id": "bench",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": schema}),
        "partitionColumns": ["day"],
        "configuration": {"delta.deletedFileRetentionDuration": "interval 0 hours"},
    }
    actions: list[dict[str, Any]] = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}]
    actions.append({"metaData": metadata})
    for number in range(files - left):
        values = {"day": str(number % _FOLDERS)}
        add = {"path": _name(number), "partitionValues": values, "size": 1, "modificationTime": 1, "dataChange": True}
        actions.append({"add": add})
    log = "\n".join(map(json.dumps, actions)).encode()

    def put(number: int) -> None:
        s3.put_object(Bucket=BUCKET, Key=f"{FOLDER}{_name(number)}", Body=b"x")

    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(put, range(files)):
            pass
    s3.put_object(Bucket=BUCKET, Key=f"{FOLDER}_delta_log/{0:020}.json", Body=log)


def _make_inventories(delta: Delta, files: int) -> None:
    """Write a table with the inventory of the bucket, as far as maintenance reads it."""
    name = f"concat('day=', id % {_FOLDERS}, '/part-', lpad(id, 7, '0'), '.parquet')"
    rows = delta.session.range(files + 1).selectExpr(
        f"'{BUCKET}' AS bucket",
        "'daily' AS configuration",
        "current_timestamp() AS inventory_created",
        f"concat('{FOLDER}', if(id = {files}, '_delta_log/{0:020}.json', {name})) AS key",
        "1L AS size",
        "current_timestamp() AS last_modified_date",
        "true AS is_latest",
        "false AS is_delete_marker",
    )
    rows.write.format("delta").partitionBy("bucket", "configuration").save(_INVENTORIES)


def _kind(request: str) -> str:
    method, _, path = request.partition(" ")
    if "list-type=2" not in path:
        return method
    return "LIST of a log" if "_delta_log" in path else "LIST"


def measure(home: Path, files: int, left: int) -> dict[str, Any]:
    """Return requests and seconds of both ways."""
    with ExitStack() as running:
        aws = running.enter_context(LocalAws(home / "aws", 0))
        proxy = running.enter_context(FaultProxy(aws.endpoint))
        keys = aws.environ
        key, secret = keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"]
        direct = Clients.connect(aws.endpoint, REGION, key=key, secret=secret).s3
        counted = Clients.connect(proxy.endpoint, REGION, key=key, secret=secret).s3
        direct.create_bucket(Bucket=BUCKET)
        _make_table(direct, files, left)
        environ = {**keys, "AWS_ENDPOINT_URL": proxy.endpoint}
        server = SparkServer(home / "spark", environ, port=0, memory="2g", log_store=None)
        running.callback(server.stop)
        server.start(150.0)
        session = running.enter_context(isolated_session(server.remote))
        delta = Delta(server.remote, lambda: session)
        _make_inventories(delta, files)
        lake = cast(Lake, SimpleNamespace(store=LakeRoot(ObjectStore(counted), f"s3://{BUCKET}/lake"), delta=delta))
        requests = proxy.count(".*", ".*").requests
        found: dict[str, Any] = {"files": files, "left": left}
        for way in ("listing", "inventory"):
            before, begun = len(requests), time.monotonic()
            inventory = None
            if way == "inventory":
                objects = folder_objects(session, _INVENTORIES, delta.table_state(_INVENTORIES).version, BUCKET, FOLDER)
                newest = newest_usable_inventory(folder_inventories(objects), BUCKET, time.time())
                inventory = vacuum_inventory(objects, newest)
            freed = vacuum(lake, _TABLE, timedelta(), dry_run=True, inventory=inventory)
            assert freed.files == left, freed
            seconds = round(time.monotonic() - begun, 1)
            found[way] = {"requests": dict(Counter(map(_kind, requests[before:]))), "seconds": seconds}
        return found


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000, help="objects in the table's folder")
    parser.add_argument("--left", type=int, default=1_000, help="of them, those that no version needs")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        print(json.dumps(measure(Path(home), chosen.files, chosen.left), indent=2))


if __name__ == "__main__":
    main()
