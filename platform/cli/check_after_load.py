"""Checks of what becomes of files after they were loaded."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from tidegate.platform.cli.findings import Failed, Finding, checked, permitted, status_of
from tidegate.platform.core.after_load import moves_to, takes_away
from tidegate.platform.core.object_key import parse_s3_uri
from tidegate.platform.core.table_spec import TableSpec

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def check_after_load(s3: S3Client, spec: TableSpec) -> Finding:
    """The files of a table may be moved, deleted or tagged; nothing that is there is touched."""
    return checked(f"table {spec.name}: after_load is allowed", lambda: _allowed(s3, spec))


def _allowed(s3: S3Client, spec: TableSpec) -> str:
    key, name = spec.table_key, f"_tidegate-check-{uuid.uuid4()}"
    objects, where = f"arn:aws:s3:::{key.bucket}/{key.prefix}*", {"Bucket": key.bucket, "Key": f"{key.prefix}{name}"}
    if folder := moves_to(spec.after_load):
        bucket, path = parse_s3_uri(folder)
        there = {"Bucket": bucket, "Key": f"{path}{name}"}
        permitted("s3:PutObject", f"arn:aws:s3:::{bucket}/{path}*", s3.put_object, **there, Body=b"tidegate check")
        permitted("s3:DeleteObject", f"arn:aws:s3:::{bucket}/{path}*", s3.delete_object, **there)
    try:
        # Of an object that is not there: S3 asks for the permission first.
        if takes_away(spec.after_load):
            permitted("s3:DeleteObject", objects, s3.delete_object, **where, IfMatch=f'"{"0" * 32}"')
        else:
            permitted("s3:PutObjectTagging", objects, s3.put_object_tagging, **where, Tagging={"TagSet": []})
    except ClientError as error:
        if status_of(error) != 404:
            raise
        return f"moved to {folder}" if folder else "deleted" if takes_away(spec.after_load) else "tagged"
    raise Failed("S3 deleted or tagged an object that is not there: it ignores If-Match, so after_load cannot be used")
