"""Delta Kernel with our log store, beside Spark."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.interop.shore import BUCKET, DEADLINE, Shore
from tests.log_store_process import KERNEL, LogStoreProcess

pytestmark = pytest.mark.interop


def test_kernel_commits_through_dynamodb_and_settles_what_others_left(shore: Shore) -> None:
    name = shore.new_name()
    environ = {**shore.aws.environ, "AWS_ENDPOINT_URL": shore.proxy.endpoint}
    with LogStoreProcess(shore.folder / f"kernel-{name}", shore.path(name), environ, KERNEL) as kernel:
        kernel.wait_ready(DEADLINE)
        assert kernel.ask("create", DEADLINE) == "version 0"
        shore.append(name, "spark")
        body = io.BytesIO()
        pq.write_table(pa.table({"id": ["kernel"]}), body)
        shore.clients.s3.put_object(Bucket=BUCKET, Key=f"{name}/kernel.parquet", Body=body.getvalue())
        assert kernel.ask(f"add {shore.path(name)}/kernel.parquet {len(body.getvalue())}") == "version 2"
        shore.check_rows(name, "spark", "kernel")
        assert shore.entries(name) == {0: True, 1: True, 2: True}

        with shore.append_held(name, "late", 3) as held:
            assert shore.entries(name)[3] is False
            assert kernel.ask("version") == "version 3"
        assert held.forwarded == [412]
        shore.check_rows(name, "spark", "kernel", "late")
