"""A load by one process without Spark: reads small files with PyArrow and appends them with delta-rs.

Endpoint and keys come from the environment. Prints seconds and CPU seconds as JSON.

    python -m benchmarks.support.delta_rs_load BUCKET FOLDER KIND TABLE
"""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import boto3
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from deltalake import write_deltalake


def load(bucket: str, folder: str, kind: str, table: str) -> int:
    """Append the rows of all files of a folder. Returns the number of rows."""
    s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"])
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{folder}/")
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]

    def rows(key: str) -> pa.Table:
        body = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        plain = io.BytesIO(gzip.decompress(body) if kind.endswith(".gz") else body)
        return pa.csv.read_csv(plain) if kind == "csv" else pa.json.read_json(plain)

    with ThreadPoolExecutor(32) as pool:
        every = pa.concat_tables(pool.map(rows, keys), promote_options="default")
    write_deltalake(table, every, mode="append", storage_options={"AWS_ALLOW_HTTP": "true"})
    return every.num_rows


def main() -> None:
    """Load and print the cost."""
    begun, used = time.monotonic(), time.process_time()
    rows = load(*sys.argv[1:])
    print(json.dumps({"rows": rows, "seconds": time.monotonic() - begun, "cpu": time.process_time() - used}))


if __name__ == "__main__":
    main()
