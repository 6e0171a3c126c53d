"""Manifests of S3 Batch Operations: the lines of a list of objects, and what a job must know of a manifest.

AWS's page "Creating an Amazon S3 Batch Operations job" has two formats. A list of objects is CSV: no header, the
bucket, the URL-encoded key, and the version ID of all objects or of none. The objects of a list are in one bucket. The
other format is the `manifest.json` of an inventory whose files are CSV: a job works on all that the inventory lists.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import fold_name

#: The names of the formats in a job: a list of objects, and an inventory.
LIST, INVENTORY = "S3BatchOperations_CSV_20180820", "S3InventoryReport_CSV_20161130"
#: The columns of a query that become fields.
BUCKET, KEY, VERSION = "bucket", "key", "version_id"
#: Types of columns that are text. That of NULL is `void`.
_TEXT = re.compile(r"string|void|(?:var)?char\(\d+\)")
#: Names that buckets have, also those from before 2018.
_BUCKET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,254}", re.ASCII)


class ListedObject(NamedTuple):
    """A row of a query.

    Attributes:
        bucket: its bucket.
        key: its key, decoded.
        version: version ID. `null` is that of the null version. None: the current version.
    """

    bucket: str | None
    key: str | None
    version: str | None = None


@dataclass(frozen=True)
class BatchManifest:
    """A manifest in S3.

    Attributes:
        bucket: the bucket of its objects.
        address: where it is.
        etag: its ETag. A job refuses a manifest with another one.
        objects: number of its objects or versions.
        format: `LIST` or `INVENTORY`.
        has_versions: whether it names versions. A job works on the current versions of the others.
        duplicates: rows of the query that are left out, because the manifest has their object already.
    """

    bucket: str
    address: S3Address
    etag: str
    objects: int
    format: str
    has_versions: bool
    duplicates: int = 0

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a list. The files of an inventory have theirs in its manifest."""
        return ("Bucket", "Key", *(["VersionId"] if self.has_versions else [])) if self.format == LIST else ()

    def call(self, account: str, region: str, arn: str) -> str:
        """Return the shell command that makes a job, with places for what only its user knows.

        Args:
            account: AWS account of the job.
            region: that of the bucket of its objects.
            arn: ARN of the manifest.
        """
        fields = {"Fields": list(self.fields)} if self.fields else {}
        spec = {
            "Spec": {"Format": self.format, **fields},
            "Location": {"ObjectArn": arn, "ETag": self.etag},
        }
        parts = ["aws", "s3control", "create-job", "--region", region, "--account-id", account]
        call = shlex.join([*parts, "--manifest", json.dumps(spec)])
        return (
            f"{call} --operation file://operation.json --role-arn ROLE_ARN --priority 10 "
            f"--report {shlex.quote(json.dumps({'Enabled': False}))} --confirmation-required"
        )


def manifest_columns(columns: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names of the columns of a query that give bucket, key and, if it has it, version ID, in this order.

    Upper and lower case are the same.

    Args:
        columns: names and types of all columns.

    Raises:
        BadValue: a column is missing or is not text, or two have one name.
    """
    found: dict[str, str] = {}
    given = []
    for column, kind in columns:
        given.append(column)
        if fold_name(column) not in (BUCKET, KEY, VERSION):
            continue
        if fold_name(column) in found:
            raise BadValue(f"two columns of the query have the name {column}: select one of them")
        if not _TEXT.fullmatch(kind):
            raise BadValue(f"the column {column} of the query is {kind} and no text: select a text")
        found[fold_name(column)] = column
    if missing := [name for name in (BUCKET, KEY) if name not in found]:
        raise BadValue(
            f"the query has no column {' and no column '.join(missing)}, only {', '.join(given)}: "
            "give a column its name with AS"
        )
    return [found[name] for name in (BUCKET, KEY, VERSION) if name in found]


def manifest_lines(objects: Iterable[ListedObject], *, with_versions: bool) -> Iterator[str]:
    """Yield the lines of a manifest.

    Args:
        objects: all of one bucket.
        with_versions: whether the manifest has the field VersionId.

    Raises:
        BadValue: a bucket or a key is NULL, the bucket is not a name of a bucket, a version ID is empty, or
            some objects have a version ID and some have none.
    """
    for number, (bucket, key, version) in enumerate(objects, 1):
        if not bucket or not key:
            raise BadValue(f"the bucket or the key of row {number} is NULL or empty: exclude it with WHERE")
        if number == 1 and not _BUCKET_NAME.fullmatch(bucket):
            raise BadValue(f"{bucket!r} is not a name of a bucket: exclude it with WHERE")
        line = f"{bucket},{quote(key)}"
        if version == "":
            # S3 would read it as the current version.
            raise BadValue(
                f"the version ID of {bucket}/{key} is empty. S3 calls the null version 'null': select "
                "if(version_id = '', 'null', version_id) AS version_id"
            )
        if (version is not None) != with_versions:
            raise BadValue(
                f"{bucket}/{key} has {'no' if version is None else 'a'} version ID, unlike others of its bucket, "
                "and a manifest has the version of all objects or of none: let the query have rows of one configuration"
            )
        yield f"{line}\n" if version is None else f"{line},{quote(version)}\n"


def unnamed_version(bucket: str) -> BadValue:
    """Return the error of objects without a version ID in a bucket whose inventory lists all versions."""
    return BadValue(
        f"the query gives objects of {bucket} no version ID, and its inventory lists all versions: a job would work on "
        "the current ones instead. If it should, do not select version_id. If an earlier version of Tidegate took the "
        "inventory in, select coalesce(version_id, 'null') AS version_id"
    )
