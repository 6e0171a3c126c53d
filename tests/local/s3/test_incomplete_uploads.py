"""Incomplete multipart uploads over HTTP: all of them are found, their parts are summed, and the rule is seen."""

from __future__ import annotations

import io
import json
import shlex
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from rich.console import Console

from tidegate.platform.cli.answers.inventory import UploadsAnswer
from tidegate.platform.cli.inventory.uploads import print_uploads
from tidegate.platform.core.storage.prices import StoragePrices
from tidegate.platform.inventory.incomplete_uploads import uploads_report
from tidegate.platform.lake.aws.multipart_uploads import MultipartUploads
from tidegate.platform.local.aws import REGION, LocalAws

LATER = timedelta(days=8)
MIB = 1 << 20


def said(report: Any, **more: Any) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_uploads(console, report, StoragePrices("USD", "x", {"STANDARD": ((0.0, 1024.0),)}), 50, **more)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_uploads_are_found_until_they_are_completed_or_aborted_or_a_rule_is_there(
    local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3: Any = boto3.client(
        "s3",
        endpoint_url=local_aws.endpoint,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    for bucket in ("uploads-many", "uploads-one"):
        s3.create_bucket(Bucket=bucket)
    ids = {}
    for number in range(1_003):  # more than a page
        key = f"part of/{number:04d}"
        ids[key] = s3.create_multipart_upload(Bucket="uploads-many", Key=key)["UploadId"]
    first = s3.create_multipart_upload(Bucket="uploads-one", Key="ü/ä b.bin", StorageClass="STANDARD_IA")["UploadId"]
    for part in (1, 2):
        s3.upload_part(Bucket="uploads-one", Key="ü/ä b.bin", UploadId=first, PartNumber=part, Body=b"x" * MIB * part)
    uploads, buckets = MultipartUploads(s3), ["uploads-many", "uploads-one", "uploads-absent"]
    now = datetime.now(UTC)
    monkeypatch.setattr("tidegate.platform.core.storage.uploads.MAX_SIZED", 2)

    # In progress, as far as anyone knows.
    report = uploads_report(uploads, buckets, 7, now)
    assert (report.found, report.without_rule) == ([], ["uploads-many", "uploads-one"])
    report = uploads_report(uploads, buckets, 7, now + LATER)
    answer = UploadsAnswer.model_validate_json(said(report, as_json=True), strict=True)
    bucket_of_uploads, many = answer.buckets
    assert (
        bucket_of_uploads.bucket,
        bucket_of_uploads.uploads,
        bucket_of_uploads.parts,
        bucket_of_uploads.bytes,
        bucket_of_uploads.example,
    ) == ("uploads-one", 1, 2, 3 * MIB, "ü/ä b.bin")
    assert (many.bucket, many.uploads, many.bytes, many.uploads_without_size) == ("uploads-many", 1_003, 0, 1_001)
    assert [refused.bucket for refused in answer.refused] == ["uploads-absent"]
    call = "aws s3api put-bucket-lifecycle-configuration --bucket uploads-one"
    assert f"no rule removes them within 7 days: {call}" in said(report)

    assert bucket_of_uploads.command
    words = shlex.split(bucket_of_uploads.command)
    body = json.loads(words[words.index("--lifecycle-configuration") + 1])
    s3.put_bucket_lifecycle_configuration(Bucket="uploads-one", LifecycleConfiguration=body)
    for key, upload in ids.items():
        s3.abort_multipart_upload(Bucket="uploads-many", Key=key, UploadId=upload)
    report = uploads_report(uploads, buckets, 7, now + LATER)
    assert [(found.bucket, found.lifecycle.aborts(7)) for found in report.found] == [("uploads-one", True)]
    assert report.without_rule == ["uploads-many"]
    s3.abort_multipart_upload(Bucket="uploads-one", Key="ü/ä b.bin", UploadId=first)
    assert "no incomplete upload is 7 days old or older" in said(uploads_report(uploads, buckets, 7, now + LATER))
