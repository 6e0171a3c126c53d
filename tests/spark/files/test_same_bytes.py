"""The same bytes come again, also with another etag, to a ledger that had no checksums. No row is there twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidegate.platform.core.bronze.ledger import COLUMNS
from tidegate.platform.lake.spark.session import command
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.reset import plan_reset
from tidegate.platform.testing import TestLake

CSV = {"name": "sales", "prefix": "sales/", "mode": "load", "columns": {"id": "bigint"}}


def _copy(lake: TestLake, key: str, body: str) -> str:
    """Put the same bytes as a bucket under KMS has them: with another etag and the same checksum.

    Returns the etag.
    """
    s3, where = lake.clients.s3, {"Bucket": lake.bucket, "Key": key}
    upload = s3.create_multipart_upload(**where)["UploadId"]
    part = s3.upload_part(**where, UploadId=upload, PartNumber=1, Body=body.encode())
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    s3.complete_multipart_upload(**where, UploadId=upload, MultipartUpload=parts)
    # The local S3 gives a copy a checksum of the whole object only for this header. It does not know the header of S3.
    header = {"x-amz-sdk-checksum-algorithm": "CRC32"}
    event, name = "before-call.s3.CopyObject", "checksum"
    s3.meta.events.register(event, lambda params, **_: params["headers"].update(header), unique_id=name)
    s3.copy_object(**where, CopySource=where, MetadataDirective="REPLACE")
    s3.meta.events.unregister(event, unique_id=name)
    return str(s3.head_object(**where)["ETag"].strip('"'))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_same_bytes_are_the_same_rows_whatever_became_of_the_object_meanwhile(
    kind: str, tidegate_lake: Callable[..., TestLake], kit: Any
) -> None:
    lake = tidegate_lake([{**CSV, "format": kind}])
    old = ", ".join(f"{name} {of}" for name, of in COLUMNS.items() if name != "checksum")
    ledger = lake.lake.table(lake.key("sales")).ledger
    command(lake.lake.delta.session, f"CREATE TABLE delta.`{ledger.location}` ({old}) USING delta CLUSTER BY (key)")
    body = kit.parquet([{"id": 1}]) if kind == "parquet" else "id\n1\n"
    key = f"sales/a.{kind}"

    def run() -> None:
        lake.intake()
        kit.run(lake, "sales", listing=False)

    lake.put(key, body)
    run()
    assert [reading.checksum for reading in ledger.committed_readings(0)] == [], "an older version of it can be read"
    (reading,) = ledger.committed_readings(ledger.clock()[0])
    assert reading.checksum
    assert reading.checksum.startswith("CRC32:")
    # The object is removed, a run records that, and the object is put again.
    lake.delete(key)
    run()
    assert kit.fate(lake, "sales")[f"a.{kind}"][0] == "removed"
    lake.put(key, body)
    run()
    assert kit.bronze(lake, "sales", "id") == [(1,)]
    if kind == "parquet":
        return
    etag = _copy(lake, key, body)
    assert etag != reading.etag
    run()
    assert kit.bronze(lake, "sales", "id, _source_etag") == [(1, reading.etag)]
    assert plan_reset(lake.lake, lake.key("sales")).lost == ()
    found = rebuild_table(lake.lake, lake.key("sales"), by="somebody")
    assert (found.again, found.kept) == (1, ())
    kit.run(lake, "sales", listing=False)
    assert kit.bronze(lake, "sales", "id, _source_etag") == [(1, etag)], "its rows were replaced"
