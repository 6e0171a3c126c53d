"""`tidegate inventory manifest` gives S3 Batch Operations its manifests: objects of a query, or whole inventories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.console import Console

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.inventory import ManifestAnswer, UnusableInventory, WrittenManifest
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.cost import objects_of
from tidegate.platform.cloud.arns import Address
from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.inventory.columns import NULL_VERSION
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.keys.object_key import folder_of
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.core.storage.batch_manifest import (
    BUCKET,
    KEY,
    LIST,
    BatchManifest,
    ListedObject,
    manifest_columns,
    manifest_lines,
    unnamed_version,
)
from tidegate.platform.core.wording import first_line
from tidegate.platform.inventory.stored_objects import with_inventories
from tidegate.platform.lake.aws.s3 import ObjectStore, StoreError
from tidegate.platform.lake.inventory.deliveries import delivered_manifest
from tidegate.platform.lake.inventory.objects import buckets_of_versions
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.threads import parallel
from tidegate.platform.query.frame import query_frame


@dataclass(frozen=True)
class ManifestQuestion:
    """The objects that manifests should list: those of a query, or all that inventories list.

    Attributes:
        table: SQL name, key or `s3://` prefix of a table of inventories. Empty: `sql` is given.
        bucket: only the inventory of this bucket. Empty: of each bucket.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.
        sql: Spark SQL on the lake's tables with columns `bucket`, `key` and, to name versions, `version_id`.
        to: `s3://` address below which each list is `<bucket>.csv`. Older ones of these names are replaced.
    """

    table: str = ""
    bucket: str = ""
    configuration: str = ""
    sql: str = ""
    to: str = ""

    def check(self) -> None:
        """Raise CommandError if it is neither of both questions, or a part of the other."""
        if bool(self.table) == bool(self.sql):
            raise CommandError("give either a table of inventories, or a query with --sql")
        if self.sql and not self.to:
            raise CommandError("say with --to below which s3:// folder the manifests should be written")
        if self.sql and (self.bucket or self.configuration):
            raise CommandError("--bucket and --configuration are of a table: let the WHERE of --sql choose instead")
        if self.table and self.to:
            raise CommandError("S3 has written the manifests of inventories already: --to is only for --sql")


def run_manifest(
    console: Console, lake: Lake, store: ObjectStore, asked: ManifestQuestion, account: str, *, as_json: bool = False
) -> None:
    """Print the manifest of each bucket, and the call that makes a job of it. The lists of a query are written.

    Args:
        store: reads and writes manifests.
        asked: which objects the manifests should list.
        account: AWS account of the jobs.
        as_json: print only one JSON object.

    Raises:
        CommandError: the arguments are inconsistent; a row cannot be listed in a manifest; or the folder is not an S3
            URI, or cannot be written. The message names the manifests that were written before.
    """
    asked.check()
    refused: list[UnusableInventory] = []
    found: list[BatchManifest] = []
    try:
        if asked.sql:
            for manifest in _lists(lake, store, query_frame(lake, asked.sql), S3Address.parse(asked.to)):
                found.append(manifest)
        else:
            found = _inventories(store, objects_of(lake, asked.table, asked.configuration), asked.bucket, refused)
    except (StoreError, ValueError, PySparkException) as error:
        raise CommandError("\n".join([first_line(error), *_describe_written(store, found, account)])) from None
    manifests = tuple(parallel(lambda manifest: _answer_written(store, manifest, account), found))
    if as_json:
        print_answer(console, ManifestAnswer(manifests=manifests, refused=tuple(refused)))
    else:
        _print(console, manifests, refused)


def _lists(lake: Lake, store: ObjectStore, frame: DataFrame, folder: S3Address) -> Iterator[BatchManifest]:
    """Write the objects of a query, a list for each bucket."""
    # A manifest has the objects of one bucket. One bucket after the other takes one open file, however many there are.
    columns = [F.col(quote_name(column)).cast("string") for column in manifest_columns(frame.dtypes)]
    of_versions = cache(lambda: _buckets_of_versions(lake))
    rows = frame.select(*columns).orderBy(*columns).toLocalIterator()
    with TemporaryDirectory(prefix="tidegate-manifest-") as temporary:
        file = Path(temporary, "manifest.csv")
        for bucket, listed in groupby((ListedObject(*row) for row in rows), attrgetter("bucket")):
            some = iter(listed)
            first = next(some)
            has_versions = first.version is not None
            if len(columns) > len((BUCKET, KEY)) and not has_versions and bucket in of_versions():
                raise unnamed_version(bucket)
            lines = manifest_lines(chain([first], some), with_versions=has_versions)
            objects = duplicates = 0
            with file.open("w", encoding="ascii", newline="") as target:
                for line, same in groupby(lines):
                    target.write(line)
                    objects += 1
                    duplicates += sum(1 for _ in same) - 1
            key = f"{folder.key.rstrip('/')}/{bucket}.csv".lstrip("/")
            address = S3Address(folder.bucket, key)
            etag = store.upload(*address, file).etag
            yield BatchManifest(bucket or "", address, etag, objects, LIST, has_versions, duplicates)


def _buckets_of_versions(lake: Lake) -> set[str]:
    """Return the buckets of which an inventory in a table of the lake lists all versions."""
    found = set()
    for spec in lake.config.tables:
        if spec.has_inventories:
            with suppress(InventoryError):  # It has none yet.
                _, birth = with_inventories(lake, spec.table_key.encode())
                found |= buckets_of_versions(lake.delta.session.read.format("delta").load(birth.location))
    return found


def _inventories(
    store: ObjectStore, objects: DataFrame, bucket: str, refused: list[UnusableInventory]
) -> list[BatchManifest]:
    """Return the manifests of the inventories that a table has, as S3 delivered them."""
    chosen = objects.where(F.col("bucket") == bucket) if bucket else objects
    # Tables that an earlier version of Tidegate filled have no ID of null versions.
    version = F.coalesce(F.nullif("version_id", F.lit("")), F.lit(NULL_VERSION))
    null = F.count_if(F.col("is_latest").isNotNull() & (version == NULL_VERSION))
    counts = chosen.groupBy("bucket", "_source_path").agg(F.count(F.lit(1)), null)
    rows = counts.orderBy("bucket").collect()
    if not rows:
        raise CommandError(f"the table has no inventory of {bucket}, or an empty one" if bucket else "it has no rows")

    def manifest(name: str, path: str, count: int, null: int) -> BatchManifest | UnusableInventory:
        checksum = S3Address.parse(path)
        try:
            return delivered_manifest(store, S3Address(checksum.bucket, folder_of(checksum.key)), name, count, null)
        except (BadValue, InventoryError) as error:
            return UnusableInventory(bucket=name, reason=str(error))

    found = list(parallel(lambda row: manifest(*row), rows))
    refused += [manifest for manifest in found if isinstance(manifest, UnusableInventory)]
    return [manifest for manifest in found if isinstance(manifest, BatchManifest)]


def _describe_written(store: ObjectStore, found: Sequence[BatchManifest], account: str) -> list[str]:
    """Return lines with the manifests that were written before an error. They may have replaced older ones."""
    lines = [line for manifest in found for line in _lines(_answer_written(store, manifest, account))]
    return ["these manifests were written before, and are complete:", *lines] if lines else []


def _answer_written(store: ObjectStore, manifest: BatchManifest, account: str) -> WrittenManifest:
    region = store.region_of(manifest.bucket)
    return WrittenManifest(
        bucket=manifest.bucket,
        uri=manifest.address.s3,
        etag=manifest.etag,
        objects=manifest.objects,
        duplicates=manifest.duplicates,
        format=manifest.format,
        fields=manifest.fields,
        call=manifest.call(
            account, region, f"{Address(region).bucket(manifest.address.bucket)}/{manifest.address.key}"
        ),
    )


def _lines(written: WrittenManifest) -> list[str]:
    has_no_versions = len(written.fields) == len((BUCKET, KEY))
    warning = ["  it has no version IDs: a job works on the current version of each key"] if has_no_versions else []
    if written.duplicates:
        warning.append(f"  the query gave objects several times: {written.duplicates:,} rows are left out")
    return [
        f'{written.uri}: {written.objects:,} objects of {written.bucket}, ETag "{written.etag}"',
        *warning,
        f"  {written.call}",
    ]


def _print(console: Console, manifests: Sequence[WrittenManifest], refused: Sequence[UnusableInventory]) -> None:
    for line in chain.from_iterable(map(_lines, manifests)):
        console.out(line, highlight=False)
    for other in refused:
        console.out(f"WARNING: {other.bucket}: {other.reason}", highlight=False)
    if not manifests:
        console.print("no object was found: there is no manifest" if not refused else "there is no manifest")
        return
    console.print(
        'operation.json has what the job does, for example {"S3DeleteObjectTagging": {}}. ROLE_ARN is a role that S3 '
        "Batch Operations may assume. A job waits until you confirm it."
    )
