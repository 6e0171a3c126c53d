"""The store without DynamoDB on one table with the store with it, the current delta-rs, and Delta Kernel."""

from __future__ import annotations

import io
import time
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.log_store.delta_log import DeltaLog
from tests.support.log_store.delta_rs import CURRENT, start
from tests.support.log_store.log_store_process import CONDITIONAL, KERNEL, LogStoreProcess
from tests.support.servers.shore import DEADLINE, Shore
from tidegate.platform.core.keys.s3_address import S3Address

#: Commits that each of the writers makes at least. They write until delta-rs has lost a race.
EACH = 4


def put_row(shore: Shore, log: DeltaLog, row: str) -> tuple[str, int]:
    """Put a Parquet file with one row into the table's folder. Returns its address and size."""
    body = io.BytesIO()
    pq.write_table(pa.table({"id": [row]}), body)
    file = f"{log.location}/{row}.parquet"
    bucket, key = S3Address.parse_s3a(file)
    shore.services.clients.s3.put_object(Bucket=bucket, Key=key, Body=body.getvalue())
    return file, len(body.getvalue())


def test_every_acknowledged_row_is_there_once_with_writers_that_share_only_the_conditional_put(shore: Shore) -> None:
    log = shore.create()
    rows: list[str] = []
    with LogStoreProcess(
        shore.folder / "conditional", log.location, shore.services.environ, KERNEL, CONDITIONAL
    ) as kernel:
        kernel.wait_ready(DEADLINE)
        other = start(shore, CURRENT, log, "other")
        mine = []
        end = time.monotonic() + DEADLINE
        while len(mine) < EACH or len(other.said("ack")) < EACH or not other.said("lost"):
            assert time.monotonic() < end, other.outcomes.read_text()
            n = len(mine)
            file, size = put_row(shore, log, f"kernel-{n}")
            # The answers are those of two writers that commit at the same time.
            kernel.send_line(f"add {file} {size}")
            shore.append(log, f"spark-{n}")
            said = kernel.answer(DEADLINE)
            assert said.startswith("version "), said
            mine.append(int(said.removeprefix("version ")))
            rows += [f"kernel-{n}", f"spark-{n}"]
        other.stop()
    rows += other.said("ack")

    shore.check_rows(log, *rows)
    commits = shore.commits(log)
    assert len(commits) == len(rows) + 1, "an acknowledged row is not a commit, or a refused one is"
    assert mine == sorted(set(mine))
    # A version that Kernel took from Spark has the entry of Spark's claim.
    assert set(mine) - set(log.entries()), "every commit of the store without DynamoDB has an entry"
    assert log.open_entries() == []
    authors = ["kernel" if n in mine else commit.get("writer", "spark") for n, commit in enumerate(commits)]
    changes = sum(author != other for author, other in pairwise(authors))
    assert changes >= 0.2 * len(commits), f"they hardly met: {authors}"
