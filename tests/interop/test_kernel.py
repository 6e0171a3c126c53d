"""Delta Kernel with our log store, together with Spark."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.log_store.log_store_process import KERNEL, LogStoreProcess
from tests.support.servers.shore import DEADLINE, Shore
from tidegate.platform.core.keys.s3_address import S3Address


def test_kernel_commits_through_dynamodb_and_settles_what_others_left(shore: Shore) -> None:
    log = shore.services.new_log()
    with LogStoreProcess(shore.folder / "kernel", log.location, shore.services.environ, KERNEL) as kernel:
        kernel.wait_ready(DEADLINE)
        assert kernel.ask("create", DEADLINE) == "version 0"
        shore.append(log, "spark")
        body = io.BytesIO()
        pq.write_table(pa.table({"id": ["kernel"]}), body)
        file = f"{log.location}/kernel.parquet"
        bucket, key = S3Address.parse_s3a(file)
        shore.services.clients.s3.put_object(Bucket=bucket, Key=key, Body=body.getvalue())
        assert kernel.ask(f"add {file} {len(body.getvalue())}") == "version 2"
        shore.check_rows(log, "spark", "kernel")
        assert sorted(log.entries()) == [0, 1, 2]
        assert log.open_entries() == []

        with shore.append_held(log, "late", 3) as held:
            assert log.open_entries() == [3]
            assert kernel.ask("version") == "version 3"
        assert held.forwarded == [412]
        shore.check_rows(log, "spark", "kernel", "late")
