"""Commits of a thousand files into a table of a million live files, compared with a table of ten thousand.

The files are only names in the log and are never read. The time of a commit is that from the call to the answer. The
checkpoints are counted, and the memory of the Spark server is measured.

    python -m benchmarks.large_table [--live 1000000] [--commits 100]
"""

from __future__ import annotations

import io
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.support.arguments import arguments
from benchmarks.support.machine import Machine, resident
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.core.bronze.batch import Add, Batch
from tidegate.platform.testing import TestLake

_FEW = 10_000
_FILES = 1_000
_STATS = {"numRecords": 10, "minValues": {"id": 0}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}


class _Table:
    """A registered table that grows by names of files."""

    def __init__(self, lake: TestLake) -> None:
        self._lake = lake
        self._key = lake.key("files")
        sink = io.BytesIO()
        pq.write_table(pa.table({"id": pa.array(range(10), pa.int64())}), sink)
        lake.put("files/first.parquet", sink.getvalue())
        run_table(lake.lake.table(self._key), RunOptions(run_id="bench", listing=True))
        table = lake.lake.table(self._key)
        assert table.birth is not None
        self._table, self._birth = table, table.birth
        self._n, self._version = 1, 0
        self.live = 1

    def grow(self, files: int) -> float:
        """Commit once. Returns the seconds."""
        adds = tuple(
            Add(f"part-{number:09}.parquet", {}, 1_000, 1_700_000_000_000, json.dumps(_STATS), "e", f"files/{number}")
            for number in range(self.live, self.live + files)
        )
        batch = Batch(
            lake=self._lake.lake.id,
            table=self._key,
            generation=self._birth.generation,
            n=self._n + 1,
            location=self._birth.location,
            after_version=self._version,
            manifests=(),
            adds=adds,
        ).seal()
        self._table.batches.decide(batch)
        uri = self._table.batches.uri(batch.n)
        begun = time.monotonic()
        landed = self._lake.lake.delta.add_files(self._birth.location, uri, verify_files=False)
        took = time.monotonic() - begun
        assert landed.outcome == "committed", landed
        self._n, self._version, self.live = batch.n, landed.version, self.live + files
        return took

    def checkpoints(self) -> int:
        """Return the number of checkpoints."""
        found = self._lake.lake.store.objects.list_under(self._lake.bucket, "files/_delta_log/")
        return sum(item.key.endswith(".checkpoint.parquet") for item in found)


def _measured(machine: Machine, table: _Table, commits: int) -> dict[str, Any]:
    live, before = table.live, table.checkpoints()
    took = [table.grow(_FILES) for _ in range(commits)]
    server = machine.spark.process
    assert server is not None
    found = {
        "live": live,
        "median": round(statistics.median(took), 3),
        "slowest": round(max(took), 3),
        "checkpoints": table.checkpoints() - before,
        "server_megabytes": resident(server.pid),
    }
    print(f"  {found}", file=sys.stderr)
    return found


def main() -> None:
    """Run the command."""
    chosen = arguments("large_table", live=1_000_000, commits=100)
    with tempfile.TemporaryDirectory() as home, Machine(Path(home)) as machine:
        table = _Table(machine.lake("large", [{"name": "files", "prefix": "files/", "format": "parquet"}]))
        for _ in range(10):
            table.grow(_FEW // 10)
        few = _measured(machine, table, 30)
        while table.live < chosen.live:
            table.grow(10_000)
        many = _measured(machine, table, chosen.commits)
    print(json.dumps({"few": few, "many": many, "ratio": round(many["median"] / few["median"], 2)}, indent=2))


if __name__ == "__main__":
    main()
