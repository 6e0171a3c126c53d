"""Registering many Parquet files, compared with GET and parse of their footers; and the memory of client and server.

The bare loop gets the last 64 KiB of each file with as many threads as a run, and parses the footer. A run is the whole
of `run_table` for 10,000 files, which are one batch. The memory is that of the processes after the run.
Requests are counted by `benchmarks.one_file_run --files 10000`. Prints JSON.

    python -m benchmarks.register [--files 20000]
"""

from __future__ import annotations

import io
import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.support.arguments import arguments
from benchmarks.support.machine import Machine, announce, spending
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.lake.aws.clients import Aws
from tidegate.platform.testing import TestLake

#: As in a run (`platform/lake/aws/s3.py`).
_THREADS = 32
_TAIL = 64 << 10
#: Files of a run. They are one batch.
_BATCH = 10_000


def main() -> None:
    """Run the command."""
    files = arguments("register", files=20_000).files
    with tempfile.TemporaryDirectory(prefix="tg") as folder, Machine(Path(folder)) as machine:
        lake = machine.lake("many", [{"name": "files", "prefix": "files/"}])
        _run(lake, _arrive(lake, 0, 1))
        keys = _arrive(lake, 1, files)
        with spending() as bare:
            _bare(machine, lake.bucket, keys)
        held = []
        with spending() as ours:
            for first in range(0, files, _BATCH):
                _run(lake, keys[first : first + _BATCH])
                held.append(machine.megabytes())
        found = {
            "files": files,
            "bare": vars(bare),
            "runs": vars(ours),
            "runs_by_bare": round(ours.seconds / bare.seconds, 2),
            "runs_by_bare_of_cpu": round(ours.cpu / bare.cpu, 2),
            "megabytes_after_each_batch": held,
        }
        print(json.dumps(found, indent=2))


def _arrive(lake: TestLake, first: int, files: int) -> list[str]:
    def put(n: int) -> str:
        sink = io.BytesIO()
        ids = range(n * 10, n * 10 + 10)
        columns = {"id": pa.array(ids, pa.int64()), "name": [f"row {i}" for i in ids], "price": [i / 4 for i in ids]}
        pq.write_table(pa.table(columns), sink)
        key = f"files/{n:08d}.parquet"
        lake.clients.s3.put_object(Bucket=lake.bucket, Key=key, Body=sink.getvalue())
        return key

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(put, range(first, first + files)))


def _run(lake: TestLake, keys: list[str]) -> None:
    """Run the table, which registers these files."""
    announce(lake, "files", keys)
    (done,) = run_table(lake.lake.table(lake.key("files")), RunOptions(run_id="bench"))
    assert len(done.batch.adds) == len(keys), done.batch.counts()


def _bare(machine: Machine, bucket: str, keys: list[str]) -> None:
    s3 = Aws.from_environ({**machine.aws.environ, "AWS_ENDPOINT_URL": machine.aws.endpoint}).client("s3")

    def read(key: str) -> int:
        body = s3.get_object(Bucket=bucket, Key=key, Range=f"bytes=-{_TAIL}")["Body"].read()
        return int(pq.read_metadata(io.BytesIO(body)).num_rows)

    with ThreadPoolExecutor(_THREADS) as pool:
        assert sum(pool.map(read, keys)) == 10 * len(keys)


if __name__ == "__main__":
    main()
