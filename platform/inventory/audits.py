"""Runs the audits of a table of inventories on its objects, the lake's tables, and the folders of the lake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.storage.audits import (
    FIELDS,
    Audit,
    AuditedTable,
    AuditFinding,
    AuditPlace,
    AuditReport,
    Unlisted,
    audit_queries,
    audits,
    orphans_query,
    unlisted_fields,
)
from tidegate.platform.inventory.stored_objects import with_inventories
from tidegate.platform.lake.inventory.objects import counted_objects_condition, subjects_of
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.lake.threads import parallel

#: Audits of one query, and the places of a finding that are returned.
_A_QUERY, _MAX_PLACES = 50, 5

_FOUND_QUERY = """
WITH found AS (
    {all}
), places AS (
    SELECT audit, place, count(*) AS objects, coalesce(sum(size), 0) AS bytes,
        min(struct(bucket, key)) AS first, max(struct(bucket, key)) AS last
    FROM found GROUP BY audit, place
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY audit ORDER BY objects DESC, bytes DESC, place) AS rank,
        sum(objects) OVER (PARTITION BY audit) AS all_objects, sum(bytes) OVER (PARTITION BY audit) AS all_bytes
    FROM places
)
SELECT * FROM ranked WHERE rank <= {max_places} ORDER BY audit, rank
"""


def audit_of(lake: Lake, table_key: str, configuration: str = "") -> AuditReport:
    """Return what the audits of a table of inventories find.

    Args:
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.

    Raises:
        InventoryError: it is not such a table, has nothing yet, or has a bucket twice; or a table has no SQL name.
    """
    _, birth = with_inventories(lake, table_key)
    rows = lake.delta.session.read.format("delta").load(birth.location)
    subjects = subjects_of(rows)
    counted = counted_objects_condition(rows, subjects, configuration)
    objects = rows.where(counted or "true")
    buckets = {subject.bucket for subject in subjects}
    name = birth.name
    tables = list(parallel(_audited_table, _tables(lake, buckets)))
    if unnamed := SqlNames(lake).name_queried_tables({name.lower()}):
        raise InventoryError(str(unnamed[0]))
    every = audits(name, buckets, tables, written_folders(lake.config), counted)
    return audit_report(lake.delta.session, objects, name, every, counted)


def written_folders(config: LakeConfig) -> list[TableKey]:
    """Return the prefixes below which Tidegate, or S3 for it, writes objects."""
    folders = [*config.after_load_folders, *config.output_roots, *config.inventory_folders]
    deliveries = [spec.table_key for spec in config.tables if spec.has_inventories]
    return [TableKey(config.lake.bucket, config.lake.prefix), *map(TableKey.from_uri, folders), *deliveries]


def _tables(lake: Lake, buckets: set[str]) -> Iterator[Table]:
    """Yield the tables of producers' files in some buckets. The rows of queues are below the lake root."""
    known = {*(spec.table_key.encode() for spec in lake.config.tables), *lake.store.births.tables()}
    root = lake.config.lake
    for table in parallel(lake.table, sorted(key for key in known if TableKey.decode(key).bucket in buckets)):
        of_rows = table.key.bucket == root.bucket and table.key.prefix.startswith(root.prefix)
        if not table.spec.has_inventories and not of_rows:
            yield table


def _audited_table(table: Table) -> AuditedTable:
    ledger = table.ledger.location if table.birth else ""
    bucket, key = S3Address.parse_s3a(table.ledger.location)
    # A listing is a hundred times faster than Spark's first read of a table.
    if ledger and table.lake.store.objects.is_empty(bucket, f"{key}/_delta_log/0"):
        ledger = ""
    return AuditedTable(table.key, table.birth.name if table.birth else table.spec.name, ledger)


def audit_report(
    session: SparkSession, objects: DataFrame, name: str, audits: Sequence[Audit], counted: str = ""
) -> AuditReport:
    """Return what audits find.

    Args:
        session: of Spark, in which the tables of the audits have their names.
        objects: rows of the table of inventories.
        name: SQL name of the table of inventories.
        counted: SQL condition of the rows that count. Empty: all.
    """
    found: list[AuditFinding] = []
    by_key = {audit.key: audit for audit in audits}

    def run(query: str) -> None:
        rows = session.sql(_FOUND_QUERY.format(all=query, max_places=_MAX_PLACES)).collect()
        found.extend(_finding(by_key[key], places) for key, places in groupby(rows, lambda row: row["audit"]))

    orphaned = [audit for audit in audits if audit.table]
    if orphaned:
        known = _known_keys(session, [audit.table.ledger for audit in orphaned if audit.table])
        with temporary_view(session, "known", known) as view:
            run(orphans_query(name, orphaned, view, counted))
    others = audit_queries(audits)
    for start in range(0, len(others), _A_QUERY):
        run("\n    UNION ALL ".join(others[start : start + _A_QUERY]))
    found.sort(key=lambda finding: (-finding.objects, -finding.bytes, finding.audit.kind, finding.audit.of))
    return AuditReport(found, _parse_unlisted_fields(objects))


def _known_keys(session: SparkSession, ledgers: Iterable[str]) -> DataFrame:
    """Return the keys of the objects that ledgers know, with the folder of the ledger.

    The files are read without Delta's logs, which takes Spark a second for each of thousands of tables. The rows are
    the same: none is ever deleted from a ledger, and a file that was merged into another one has no other rows.
    """
    folders = sorted({ledger for ledger in ledgers if ledger})
    if not folders:
        return session.createDataFrame([], "folder string, key string")
    # A file that maintenance deletes meanwhile was replaced.
    reader = session.read.option("ignoreMissingFiles", "true").schema("kind string, key string")
    rows = reader.parquet(*folders)
    folder = F.element_at(F.split("_metadata.file_path", "/"), -2)
    return rows.where(F.col("kind") == "row").select(folder.alias("folder"), "key")


def _finding(audit: Audit, rows: Iterable[Row]) -> AuditFinding:
    places = list(rows)
    worst = [
        AuditPlace(row["place"], row["objects"], row["bytes"], S3Address(*row["first"]).s3, S3Address(*row["last"]).s3)
        for row in places
    ]
    first = places[0]
    return AuditFinding(audit, first["all_objects"], first["all_bytes"], worst)


def _parse_unlisted_fields(objects: DataFrame) -> list[Unlisted]:
    stored = objects.where(~F.coalesce("is_delete_marker", F.lit(False)))
    counted = stored.groupBy("bucket").agg(*(F.count(name).alias(name) for name in FIELDS))
    return unlisted_fields(row.asDict() for row in counted.collect())
