"""Checks of `after_load`: moving, deleting or tagging loaded files."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from tidegate.platform.cli.check.findings import (
    Denied,
    Failed,
    Finding,
    Warned,
    arns_of,
    begin_listing,
    call_permitted,
    make_finding,
    try_call,
)
from tidegate.platform.cli.check.known_checks import Check
from tidegate.platform.cloud.roles.lake_arns import PROBE
from tidegate.platform.core.config.after_load import move_target, removes_source
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.answers import status_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def check_after_load(s3: S3Client, spec: TableSpec) -> Finding:
    """Check that the files of a table may be moved, deleted or tagged. No existing object is changed."""
    return make_finding(Check.TABLE_AFTER_LOAD, spec.name, lambda: _check_permissions(s3, spec))


def _check_permissions(s3: S3Client, spec: TableSpec) -> str:
    key, name = spec.table_key, f"{PROBE}{uuid.uuid4()}"
    objects, where = arns_of(s3).objects(key.bucket, key.prefix), {"Bucket": key.bucket, "Key": f"{key.prefix}{name}"}
    if folder := move_target(spec.after_load):
        bucket, path = S3Address.parse(folder)
        there = {"Bucket": bucket, "Key": f"{path}{name}"}
        target = arns_of(s3).objects(bucket, path)
        # Without this permission S3 would answer 403 for every name without an object.
        begin_listing(s3, bucket)
        call_permitted("s3:PutObject", target, s3.put_object, **there, Body=b"tidegate check")
        try:
            call_permitted("s3:GetObject", target, s3.get_object, **there)
            call_permitted("s3:PutObjectTagging", target, s3.put_object_tagging, **there, Tagging={"TagSet": []})
        finally:
            call_permitted("s3:DeleteObject", target, s3.delete_object, **there)
    # The object does not exist: S3 checks the permission first.
    if not removes_source(spec.after_load):
        try_call("s3:PutObjectTagging", objects, s3.put_object_tagging, **where, Tagging={"TagSet": []})
        _tag_versions(s3, key, objects)
        return "tagged"
    try:
        call_permitted("s3:DeleteObject", objects, s3.delete_object, **where, IfMatch=f'"{"0" * 32}"')
    except ClientError as error:
        if status_of(error) != 404:
            raise
        return f"moved to {folder}" if folder else "deleted"
    raise Failed(
        "S3 reports the deletion of an object that does not exist: it ignores If-Match, so after_load cannot be used"
    )


def _tag_versions(s3: S3Client, key: TableKey, objects: str) -> None:
    """Check the permissions for tags of versions, which a bucket with versions needs.

    Raises:
        Denied: a permission is missing.
        Warned: a permission is missing, and no object of the table has a version that would need it.
    """
    has_versions = False
    with suppress(Failed, ClientError):  # the checks of the bucket report that
        listed = begin_listing(s3, key.bucket, key.prefix).get("Contents", [])
        has_versions = bool(listed) and "VersionId" in s3.head_object(Bucket=key.bucket, Key=listed[0]["Key"])
    # The object does not exist, so no tags are changed.
    nobody = {"Bucket": key.bucket, "Key": f"{key.prefix}{PROBE}{uuid.uuid4()}", "VersionId": "null"}
    try:
        try_call("s3:GetObjectVersionTagging", objects, s3.get_object_tagging, **nobody)
        try_call("s3:PutObjectVersionTagging", objects, s3.put_object_tagging, **nobody, Tagging={"TagSet": []})
    except Denied as denied:
        if has_versions:
            raise
        raise Warned(f"tagged; but once the bucket has versions: {denied}") from None
