"""The rows of deliveries: each is proven, and Spark writes its rows as data files of the table, uncommitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidegate.platform.bronze.prepare.load.source_columns import event_micros
from tidegate.platform.bronze.prepare.load.spark_errors import Fault, explain_error, fault_of
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.batch import Add
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import BatchDraft, Candidate
from tidegate.platform.core.inventory.columns import COLUMNS_WITH_STATISTICS, CREATED, FIELDS, PARTITIONS, column_name
from tidegate.platform.core.inventory.delivery import Delivery, Subject
from tidegate.platform.core.inventory.manifest import Inventory, InventoryError
from tidegate.platform.core.keys.object_key import folder_of
from tidegate.platform.core.keys.s3_address import S3Address, plain_address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.inventory.deliveries import manifest_of, prove_inventory
from tidegate.platform.lake.inventory.rows import inventory_rows, rows_of_alike
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import override_settings
from tidegate.platform.lake.spark.temporary_view import temporary_view

#: The column with the file of a row, where deliveries are read at once, and what is known of each file.
_FILE = "_tidegate_file"
_DELIVERY_COLUMNS = (
    "_source_path string",
    "_source_etag string",
    "_source_event_time bigint",
    f"{CREATED} bigint",
    *(f"{name} string" for name in PARTITIONS),
)
#: Spark sorts the rows of a task by partition, unless it may have as many files open. A task reads a part of one large
#: delivery, so it has one. Of small ones it sorts the rows after those of the second. And Parquet compares each value
#: with the bounds of its column, for readers that look for it.
_WRITE_SETTINGS = {
    "spark.sql.maxConcurrentOutputFileWriters": "2",
    "parquet.column.statistics.enabled": "false",
    **{f"parquet.column.statistics.enabled#{name}": "true" for name in sorted(COLUMNS_WITH_STATISTICS)},
}
#: Conditions of values, and of types in a manifest, that are not what AWS documents for their field.
_FIELD_CONDITIONS = (
    "CAST_INVALID_INPUT",
    "CANNOT_DECODE_URL",
    "CAST_OVERFLOW",
    "DATATYPE_MISMATCH",
    "INCOMPLETE_TYPE_DEFINITION",
    "PARSE_SYNTAX_ERROR",
    "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
    "UNSUPPORTED_DATATYPE",
)

#: A delivery up to this size is read with others. A larger one has a read of its own, because rows that are read with
#: those of others are joined with what is known of their file.
SMALL_BYTES = 4 << 20

#: An MD5 in hex, and what a producer may write around it.
_CHECKSUM_BYTES = 1024


def stage(
    key: TableKey, source: Bucket, delta: Delta, work: BatchDraft, prepared: PreparedBatch, entries: Sequence[Entry]
) -> list[tuple[Entry, list[Add]]]:
    """Write the rows of deliveries of different subjects. If one is at fault, it is found by halves.

    Args:
        prepared: has the columns of the table, and records what happens to deliveries that are not returned.

    Raises:
        PySparkException: Spark failed, and no delivery is known to be at fault.
        SparkUnreachable: the server is gone.
    """
    if not entries:
        return []
    try:
        adds = _write_rows(key, delta, work, prepared, entries)
    except PySparkException as error:
        delta.check_session_alive()
        if not _is_of_files(error):
            raise
        if len(entries) > 1:
            half = len(entries) // 2
            return [
                *stage(key, source, delta, work, prepared, entries[:half]),
                *stage(key, source, delta, work, prepared, entries[half:]),
            ]
        prepared.quarantine(entries[0].candidate, explain_error(error))
        return []
    changed = _changed_deliveries(source, entries)
    for entry in changed:
        prepared.defer(entry.candidate)
    return [(entry, adds.get(entry.delivery.subject, [])) for entry in entries if entry not in changed]


def _is_of_files(error: PySparkException) -> bool:
    return (error.getCondition() or "").startswith(_FIELD_CONDITIONS) or fault_of(error) is Fault.FILE


def _write_rows(
    key: TableKey, delta: Delta, work: BatchDraft, prepared: PreparedBatch, entries: Sequence[Entry]
) -> dict[Subject, list[Add]]:
    """Write the rows. Returns the data files of each subject that has rows."""
    session = delta.session
    parts = (_rows(key, delta, work, some) for some in group_alike(entries))
    rows = reduce(lambda rows, more: rows.unionByName(more, allowMissingColumns=True), parts)
    found: dict[Subject, list[Add]] = {}
    with temporary_view(session, "inventories", rows) as view, override_settings(session, _WRITE_SETTINGS):
        adds = delta.stage(work.birth.location, f"SELECT * FROM {view}", prepared.schema)
    for add in adds:
        values = [add.partition_values[name] or "" for name in PARTITIONS]
        found.setdefault(Subject(*values), []).append(add)
    return found


def _rows(key: TableKey, delta: Delta, work: BatchDraft, entries: Sequence[Entry]) -> DataFrame:
    """Return the rows of deliveries that are alike."""
    if len(entries) == 1:
        values = {name: F.lit(value) for name, value in _values(key, entries[0]).items()}
        rows = inventory_rows(delta, entries[0].inventory).withColumns(values)
    else:
        rows = rows_of_alike(delta, [entry.inventory for entry in entries], _FILE)
        known = [
            (plain_address(address), *_values(key, entry).values())
            for entry in entries
            for address in entry.inventory.addresses
        ]
        files = delta.session.createDataFrame(known, f"{_FILE} string, {', '.join(_DELIVERY_COLUMNS)}")
        rows = rows.join(F.broadcast(files), _FILE, "left")
        nobody = F.raise_error(F.concat(F.lit("a row of no delivery, of the file "), _FILE)).cast("string")
        rows = rows.withColumn("bucket", F.coalesce("bucket", nobody)).drop(_FILE)
    # A column that is in no file reads as NULL. NULLs of a dozen fields would take as long to write as the others.
    left_out = FIELDS.keys() - set(entries[0].columns)
    return rows.drop(*left_out).withColumns(
        {
            "_source_event_time": F.timestamp_micros(F.col("_source_event_time").cast("bigint")),
            CREATED: F.timestamp_millis(F.col(CREATED).cast("bigint")),
            "_ingested_at": F.current_timestamp(),
            "_batch": F.lit(work.n).cast("bigint"),
        }
    )


def _values(key: TableKey, entry: Entry) -> dict[str, str | int | None]:
    """Return what all rows of a delivery have, by the columns of `_DELIVERY_COLUMNS`, in their order."""
    return {
        "_source_path": S3Address(key.bucket, entry.candidate.key).s3,
        "_source_etag": entry.candidate.found.etag,
        "_source_event_time": event_micros(entry.candidate),
        CREATED: round(entry.inventory.created * 1000),
        **dict(zip(PARTITIONS, entry.delivery.subject, strict=True)),
    }


def _changed_deliveries(source: Bucket, entries: Sequence[Entry]) -> list[Entry]:
    """Return the deliveries of which a file is no longer the file that was proven."""
    now = source.head_many([key for entry in entries for key in entry.etags])

    def etag(key: str) -> str | None:
        found = now[key]
        return found.etag if isinstance(found, S3Found) else None

    return [entry for entry in entries if any(etag(key) != known for key, known in entry.etags.items())]


def group_alike(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Divide deliveries into those that Spark reads at once: small ones of one format, with the same columns.

    A union of hundreds of reads takes Spark longer to plan than to run.
    """
    groups: dict[object, list[Entry]] = {}
    for entry in entries:
        inventory = entry.inventory
        small = 0 < entry.size <= SMALL_BYTES and all(map(plain_address, inventory.addresses))
        group = (inventory.format, tuple(inventory.columns.items())) if small else entry.delivery
        groups.setdefault(group, []).append(entry)
    return list(groups.values())


@dataclass(frozen=True)
class Entry:
    """A delivery that may enter the table.

    Attributes:
        etags: of its files when they were proven, by key.
    """

    delivery: Delivery
    candidate: Candidate
    inventory: Inventory
    etags: Mapping[str, str]

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.size for file in self.inventory.files)

    @property
    def columns(self) -> list[str]:
        """The columns of its fields in the table."""
        return [column_name(name) for name in self.inventory.columns]

    @property
    def left_out(self) -> str | None:
        """Which fields of its files the table does not get. None: it gets all."""
        fields = ", ".join(f"{field.name} ({field.type})" for field in self.inventory.left_out)
        return f"without the fields {fields}: a column of text cannot have their types" if fields else None


def prove_entry(key: TableKey, source: Bucket, delivery: Delivery, candidate: Candidate) -> Entry:
    """Read the manifest of a delivery, and prove it and the files that it names.

    Raises:
        InventoryError: it cannot be used. A subclass says whether it may become usable.
        StoreError: S3 did not answer, or the checksum was written again since the look.
    """
    objects, folder = source.objects, S3Address(key.bucket, folder_of(candidate.key))
    checksum = candidate.found.body
    if checksum is None:
        with objects.open_version(source.version(candidate.key, candidate.found.etag)) as body:
            checksum = body.read(_CHECKSUM_BYTES)
    found = prove_inventory(objects, folder, checksum, manifest_of(objects, folder))
    if found.inventory.source != delivery.subject.bucket:
        raise InventoryError(
            f"{found.inventory.uri} is an inventory of the bucket {found.inventory.source}, and its folder is that of "
            f"{delivery.subject.bucket}: it was copied, or written by hand. Remove it"
        )
    return Entry(delivery, candidate, found.inventory, found.etags)
