"""Inventory configurations and policies of buckets, as S3 has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

from tidegate.platform.lake.aws.answers import code_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

#: Codes of S3's answer if a bucket has no such configuration, or no policy. Moto's is the second.
_NONE = ("NoSuchConfiguration", "NoSuchInventoryConfig", "NoSuchBucketPolicy")


class BucketInventories:
    """Reads and writes them. Each method raises botocore's errors."""

    def __init__(self, client: S3Client) -> None:
        self._client = client

    @property
    def region(self) -> str:
        """Region of the requests."""
        return self._client.meta.region_name

    def buckets(self) -> dict[str, str]:
        """Return the regions of the account's buckets by their names. A region is empty if S3 does not name it."""
        # S3 names regions only in answers to requests with a parameter.
        pages = self._client.get_paginator("list_buckets").paginate(PaginationConfig={"PageSize": 1000})
        found = (bucket for page in pages for bucket in page.get("Buckets", ()))
        return {bucket["Name"]: bucket.get("BucketRegion", "") for bucket in found}

    def configuration(self, bucket: str, name: str) -> dict[str, Any] | None:
        """Return a bucket's inventory configuration. None if there is none of that name."""
        try:
            answer = self._client.get_bucket_inventory_configuration(Bucket=bucket, Id=name)
        except ClientError as error:
            if code_of(error) in _NONE:
                return None
            raise
        return cast(dict[str, Any], answer["InventoryConfiguration"])

    def put_configuration(self, bucket: str, configuration: Mapping[str, Any]) -> None:
        """Write a bucket's inventory configuration."""
        body = cast(Any, configuration)
        self._client.put_bucket_inventory_configuration(
            Bucket=bucket, Id=configuration["Id"], InventoryConfiguration=body
        )

    def policy(self, bucket: str) -> dict[str, Any] | None:
        """Return a bucket's policy. None if it has none."""
        try:
            return cast(dict[str, Any], json.loads(self._client.get_bucket_policy(Bucket=bucket)["Policy"]))
        except ClientError as error:
            if code_of(error) in _NONE:
                return None
            raise

    def put_policy(self, bucket: str, policy: Mapping[str, Any]) -> None:
        """Write a bucket's policy."""
        self._client.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))
