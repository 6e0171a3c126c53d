"""The rows of proven deliveries, written by Spark as data files of the table, uncommitted."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from ulid import ULID

from tidegate.assets.bronze.prepare.inventories.entry import Entry
from tidegate.assets.bronze.prepare.load.source_columns import event_micros
from tidegate.assets.bronze.prepare.load.spark_errors import Fault, explained, fault_of
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.platform.core.bronze.batch import Add
from tidegate.platform.core.bronze.batch_draft import BatchDraft
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.inventory.columns import CREATED, PARTITIONS
from tidegate.platform.core.inventory.delivery import Subject
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.resources.inventory.rows import inventory_rows
from tidegate.resources.lake import Table

#: Conditions of values that are not what AWS documents for their field.
_OF_VALUES = ("CAST_INVALID_INPUT", "CANNOT_DECODE_URL", "CAST_OVERFLOW")


def stage(
    table: Table, work: BatchDraft, prepared: PreparedBatch, entries: Sequence[Entry]
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
        adds = _written(table, work, prepared, entries)
    except PySparkException as error:
        table.delta.check_session_alive()
        if not (_is_of_values(error) or fault_of(error) is Fault.FILE):
            raise
        if len(entries) > 1:
            half = len(entries) // 2
            return [
                *stage(table, work, prepared, entries[:half]),
                *stage(table, work, prepared, entries[half:]),
            ]
        prepared.quarantine(entries[0].candidate, explained(error))
        return []
    changed = _changed(table, entries)
    for entry in changed:
        prepared.defer(entry.candidate)
    return [(entry, adds.get(entry.delivery.subject, [])) for entry in entries if entry not in changed]


def _is_of_values(error: PySparkException) -> bool:
    return (error.getCondition() or "").startswith(_OF_VALUES)


def _written(
    table: Table, work: BatchDraft, prepared: PreparedBatch, entries: Sequence[Entry]
) -> dict[Subject, list[Add]]:
    """Write the rows. Returns the data files of each subject that has rows."""
    session, view = table.delta.session, f"inventories_{ULID()}".lower()
    first, *others = (_rows(table, work, entry) for entry in entries)
    rows = first
    for other in others:
        rows = rows.unionByName(other, allowMissingColumns=True)
    rows.createOrReplaceTempView(view)
    found: dict[Subject, list[Add]] = {}
    for add in table.delta.stage(work.birth.location, f"SELECT * FROM {view}", prepared.schema):
        values = [add.partition_values[name] or "" for name in PARTITIONS]
        found.setdefault(Subject(*values), []).append(add)
    session.catalog.dropTempView(view)
    return found


def _rows(table: Table, work: BatchDraft, entry: Entry) -> DataFrame:
    subject, time = entry.delivery.subject, event_micros(entry.candidate)
    values = {
        "_source_path": F.lit(S3Address(table.key.bucket, entry.candidate.key).s3),
        "_source_etag": F.lit(entry.candidate.found.etag),
        "_source_event_time": F.timestamp_micros(F.lit(time).cast("bigint")),
        "_ingested_at": F.current_timestamp(),
        "_batch": F.lit(work.n).cast("bigint"),
        CREATED: F.timestamp_millis(F.lit(round(entry.inventory.created * 1000)).cast("bigint")),
        **dict(zip(PARTITIONS, map(F.lit, subject), strict=True)),
    }
    return inventory_rows(table.delta, entry.inventory).withColumns(values)


def _changed(table: Table, entries: Sequence[Entry]) -> list[Entry]:
    """Return the deliveries of which a file is no longer the file that was proven."""
    now = table.source.head_many([key for entry in entries for key in entry.etags])

    def etag(key: str) -> str | None:
        found = now[key]
        return found.etag if isinstance(found, S3Found) else None

    return [entry for entry in entries if any(etag(key) != known for key, known in entry.etags.items())]
