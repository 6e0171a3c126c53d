"""`tidegate inventory manifest` writes the objects that a query finds as manifests of S3 Batch Operations."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.console import Console

from tidegate.platform.cli.answers import print_answer
from tidegate.platform.cli.commands.sql import query_frame
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.answers import ManifestAnswer, WrittenManifest
from tidegate.platform.cloud.address import bucket_arn
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import quoted
from tidegate.platform.core.storage.batch_manifest import (
    FORMAT,
    BatchManifestError,
    ListedObject,
    ManifestFields,
    manifest_lines,
)
from tidegate.resources.aws.s3 import ObjectStore, StoreError
from tidegate.resources.lake import Lake


def run_manifest(
    console: Console, lake: Lake, store: ObjectStore, query: str, folder: str, account: str, *, as_json: bool = False
) -> None:
    """Write a manifest for each bucket, and print the call that makes a job of it.

    Args:
        console: takes the output.
        lake: the lake.
        store: writes the manifests.
        query: Spark SQL on the lake's tables with columns `bucket`, `key` and, to name versions, `version_id`.
        folder: `s3://` address below which each manifest is `<bucket>.csv`. Older ones of these names are replaced.
        account: AWS account of the jobs.
        as_json: print only one JSON object.

    Raises:
        CommandError: the query has other columns, or gives rows that no manifest can have; the folder is no address, or
            cannot be written.
    """
    try:
        address = S3Address.parse(folder)
        frame = query_frame(lake, query)
        fields = ManifestFields.of(frame.columns)
        written = tuple(_written(store, frame, fields, address))
    except (BatchManifestError, StoreError, ValueError) as error:
        raise CommandError(str(error)) from None
    answer = ManifestAnswer(
        format=FORMAT,
        fields=fields.names,
        manifests=written,
        calls=tuple(_call(one, fields, account) for one in written),
    )
    if as_json:
        print_answer(console, answer)
    else:
        _print(console, answer)


def _written(
    store: ObjectStore, frame: DataFrame, fields: ManifestFields, folder: S3Address
) -> Iterator[WrittenManifest]:
    # A manifest has the objects of one bucket. One bucket after the other takes one open file, however many there are.
    columns = [F.col(quoted(column)).cast("string") for column in fields.columns]
    rows = frame.select(*columns).orderBy(*columns[:2]).toLocalIterator()
    with_versions = "VersionId" in fields.names
    with TemporaryDirectory(prefix="tidegate-manifest-") as temporary:
        file = Path(temporary, "manifest.csv")
        for bucket, listed in groupby((ListedObject(*row) for row in rows), attrgetter("bucket")):
            with file.open("w", encoding="ascii", newline="") as target:
                objects = sum(target.write(line) and 1 for line in manifest_lines(listed, with_versions=with_versions))
            key = f"{folder.key.rstrip('/')}/{bucket}.csv".lstrip("/")
            found = store.upload(folder.bucket, key, file)
            yield WrittenManifest(
                bucket=bucket or "", uri=S3Address(folder.bucket, key).s3, etag=found.etag, objects=objects
            )


def _call(manifest: WrittenManifest, fields: ManifestFields, account: str) -> str:
    """Returns the shell command that makes a job, with places for what only its user knows."""
    bucket, key = S3Address.parse(manifest.uri)
    spec = {
        "Spec": {"Format": FORMAT, "Fields": list(fields.names)},
        "Location": {"ObjectArn": f"{bucket_arn(bucket)}/{key}", "ETag": manifest.etag},
    }
    parts = ["aws", "s3control", "create-job", "--account-id", account, "--manifest", json.dumps(spec)]
    report = {"Enabled": False}
    return (
        f"{shlex.join(parts)} --operation file://operation.json --role-arn ROLE_ARN --priority 10 "
        f"--report {shlex.quote(json.dumps(report))} --confirmation-required"
    )


def _print(console: Console, answer: ManifestAnswer) -> None:
    if not answer.manifests:
        console.print("the query finds no object: no manifest was written")
        return
    for manifest, call in zip(answer.manifests, answer.calls, strict=True):
        console.out(f'{manifest.uri}: {manifest.objects:,} objects of {manifest.bucket}, ETag "{manifest.etag}"')
        console.out(f"  {call}", highlight=False)
    console.print(
        'operation.json has what the job does, for example {"S3DeleteObjectTagging": {}}. ROLE_ARN is a role that S3 '
        "Batch Operations may assume. A job waits until you confirm it."
    )
