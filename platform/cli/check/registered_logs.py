"""Check that producers cannot write to the logs of registered tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from tidegate.platform.cli.check.catalog import Check
from tidegate.platform.cli.check.findings import Finding, Warned, arns_of, checked, permitted
from tidegate.platform.cloud.log_policy import open_logs
from tidegate.platform.cloud.roles.lake_arns import LakeArns
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.lake.aws.answers import status_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

#: Folders that one detail lists.
_MAX_SHOWN = 3


def check_logs(s3: S3Client, bucket: str, config: LakeConfig) -> Iterator[Finding]:
    """Check the policy of a source bucket, if a table may be registered in it."""
    if bucket in LakeArns(config).registered_buckets:
        yield checked(Check.BUCKET_LOGS, bucket, lambda: _closed(s3, bucket, config))


def _closed(s3: S3Client, bucket: str, config: LakeConfig) -> str:
    try:
        found = permitted("s3:GetBucketPolicy", arns_of(s3).bucket(bucket), s3.get_bucket_policy, Bucket=bucket)
        policy = json.loads(found["Policy"])
    except ClientError as error:
        if status_of(error) != 404:
            raise
        policy = {}
    if folders := open_logs(config, bucket, policy):
        others = " and others" if len(folders) > _MAX_SHOWN else ""
        raise Warned(
            f"producers that may put objects into {', '.join(folders[:_MAX_SHOWN])}{others} can write the log of a "
            "registered table, and so show its readers each file that the Spark server can read: put the policy that "
            "`tidegate policy buckets` prints"
        )
    return "only the roles of Tidegate may write below _delta_log/ and _tidegate/"
