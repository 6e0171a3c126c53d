"""Multipart uploads of buckets that are neither completed nor aborted, and the lifecycle rules that remove them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

from tidegate.platform.core.storage.uploads import Lifecycle, Upload
from tidegate.platform.lake.aws.answers import code_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class MultipartUploads:
    """Lists them. Each method raises botocore's errors."""

    def __init__(self, client: S3Client) -> None:
        self._client = client

    def incomplete_uploads(self, bucket: str) -> Iterator[Upload]:
        """Yield all uploads of a bucket, without the sizes of their parts."""
        for page in self._client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket):
            for upload in page.get("Uploads", ()):
                kind = upload.get("StorageClass") or "STANDARD"
                yield Upload(upload["Key"], upload["UploadId"], upload["Initiated"], kind)

    def with_parts(self, bucket: str, upload: Upload) -> Upload | None:
        """Return an upload with the number and bytes of its parts. None if it has ended meanwhile."""
        pages = self._client.get_paginator("list_parts").paginate(
            Bucket=bucket, Key=upload.key, UploadId=upload.upload_id
        )
        try:
            sizes = [part["Size"] for page in pages for part in page.get("Parts", ())]
        except ClientError as error:
            if code_of(error) == "NoSuchUpload":
                return None
            raise
        return replace(upload, parts=len(sizes), size=sum(sizes))

    def lifecycle(self, bucket: str) -> Lifecycle:
        """Return the lifecycle configuration of a bucket."""
        try:
            answer = cast(Mapping[str, Any], self._client.get_bucket_lifecycle_configuration(Bucket=bucket))
        except ClientError as error:
            if code_of(error) == "NoSuchLifecycleConfiguration":
                return Lifecycle()
            raise
        return Lifecycle(answer.get("Rules", ()), answer.get("TransitionDefaultMinimumObjectSize", ""))
