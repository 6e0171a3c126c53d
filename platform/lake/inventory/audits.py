"""Runs audits of the objects in a table of inventories, in Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.storage.audits import (
    FIELDS,
    Audit,
    AuditFinding,
    AuditPlace,
    AuditReport,
    Unlisted,
    audit_queries,
    orphans_query,
    unlisted,
)
from tidegate.platform.lake.spark.temporary_view import temporary_view

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


def audit_report(
    session: SparkSession, objects: DataFrame, name: str, audits: Sequence[Audit], counted: str = ""
) -> AuditReport:
    """Return what audits find.

    Args:
        session: of Spark, in which the tables of the audits have their names.
        objects: rows of the table of inventories.
        name: SQL name of the table of inventories.
        audits: the audits.
        counted: SQL condition of the rows that count. Empty: all.
    """
    found: list[AuditFinding] = []
    by_key = {audit.key: audit for audit in audits}

    def run(query: str) -> None:
        rows = session.sql(_FOUND_QUERY.format(all=query, max_places=_MAX_PLACES)).collect()
        found.extend(_finding(by_key[key], places) for key, places in groupby(rows, lambda row: row["audit"]))

    orphaned = [audit for audit in audits if audit.table]
    if orphaned:
        known = _known(session, [audit.table.ledger for audit in orphaned if audit.table])
        with temporary_view(session, "known", known) as view:
            run(orphans_query(name, orphaned, view, counted))
    others = audit_queries(audits)
    for start in range(0, len(others), _A_QUERY):
        run("\n    UNION ALL ".join(others[start : start + _A_QUERY]))
    found.sort(key=lambda one: (-one.objects, -one.bytes, one.audit.kind, one.audit.of))
    return AuditReport(found, _parse_unlisted_fields(objects))


def _known(session: SparkSession, ledgers: Iterable[str]) -> DataFrame:
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
    return unlisted(row.asDict() for row in counted.collect())
