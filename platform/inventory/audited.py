"""What the audits of a table of inventories compare with: the lake's tables, and the folders that it writes."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.storage.audits import AuditedTable, AuditReport, audits
from tidegate.platform.inventory.stored import with_inventories
from tidegate.platform.lake.inventory.audits import audit_report
from tidegate.platform.lake.inventory.objects import counted_objects_condition, subjects_of
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.lake.threads import parallel


def audit_of(lake: Lake, table_key: str, configuration: str = "") -> AuditReport:
    """Return what the audits of a table of inventories find.

    Args:
        lake: the lake.
        table_key: key of the table.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.

    Raises:
        InventoryError: it is no such table, has nothing yet, or has a bucket twice; or a table has no SQL name.
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
    for table in parallel(lake.table, sorted(one for one in known if TableKey.decode(one).bucket in buckets)):
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
