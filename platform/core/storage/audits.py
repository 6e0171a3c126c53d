"""The audits of the objects in a table of inventories: each is a condition of Spark SQL, which shows them, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegate.platform.core.keys.object_key import HIDDEN_FILE, HIDDEN_FOLDER
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_types import quoted
from tidegate.platform.core.schema.sql_literal import literal

#: The fields that audits need, by their columns.
FIELDS: Mapping[str, str] = {
    "encryption_status": "EncryptionStatus",
    "replication_status": "ReplicationStatus",
    "is_latest": "IsLatest",
    "is_delete_marker": "IsDeleteMarker",
    "last_modified_date": "LastModifiedDate",
    "size": "Size",
}
#: What each kind of audit finds.
KINDS: Mapping[str, str] = {
    "unencrypted": "objects that are not encrypted",
    "replication_failed": "objects whose replication failed",
    "replication_pending": "objects whose replication was pending for more than a day",
    "noncurrent": "noncurrent versions",
    "lone_delete_markers": "delete markers without a version",
    "orphaned": "objects older than a day below the table's prefix, which its ledger does not know",
    "outside": "objects below no table's prefix",
}
_SIZES = "size"
#: The columns that each kind needs. Where an inventory does not list them, the audit finds nothing, or no bytes.
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "unencrypted": ("encryption_status", _SIZES),
    "replication_failed": ("replication_status", _SIZES),
    "replication_pending": ("replication_status", "last_modified_date", _SIZES),
    "noncurrent": ("is_latest", _SIZES),
    "lone_delete_markers": ("is_delete_marker",),
    "orphaned": ("last_modified_date", _SIZES),
    "outside": (_SIZES,),
}
_STORED = "NOT coalesce(stored.is_delete_marker, false)"
_PRESENT = f"coalesce(stored.is_latest, true) AND {_STORED}"
_OLDER = "stored.last_modified_date < stored.inventory_created - INTERVAL 1 DAY"
_NO_FOLDER = "NOT endswith(stored.key, '/')"


@dataclass(frozen=True)
class AuditedTable:
    """A table with a prefix in a bucket that has an inventory.

    Attributes:
        name: SQL name of its ledger.
        has_ledger: whether the ledger exists. Without one, no object below the prefix is known.
    """

    key: TableKey
    name: str
    has_ledger: bool = True


@dataclass(frozen=True)
class Audit:
    """A condition on rows of the table of inventories.

    Attributes:
        kind: of `KINDS`.
        of: the table or bucket that it is of. Empty: all buckets.
        rows: the query from FROM on. A row has the alias `stored`.
        place: SQL of what its findings are grouped by.
        of_buckets: `rows` without the bucket, if the audits of other buckets differ in nothing else. Empty: they do.
    """

    kind: str
    of: str
    rows: str
    place: str = "stored.bucket"
    of_buckets: str = ""

    @property
    def key(self) -> str:
        """What no other audit of a table of inventories has."""
        return f"{self.kind} {self.of}"

    def sql(self, *, versions: bool) -> str:
        """Return the query that shows each object.

        Args:
            versions: whether the objects have version IDs.
        """
        return f"SELECT bucket, key, {'version_id, ' if versions else ''}size {self.rows}"


@dataclass(frozen=True)
class AuditPlace:
    """The objects of a finding in a bucket or folder.

    Attributes:
        place: its name.
        first: `s3://` address of the first of them, in order.
        last: that of the last.
    """

    place: str
    objects: int
    bytes: int
    first: str
    last: str


@dataclass(frozen=True)
class AuditFinding:
    """What an audit found.

    Attributes:
        bytes: sum of the sizes that are listed.
        versioned: number of the objects with a version ID.
        places: the buckets or folders with the most objects, the worst first.
    """

    audit: Audit
    objects: int
    bytes: int
    versioned: int
    places: Sequence[AuditPlace]

    @property
    def examples(self) -> list[str]:
        """Up to three addresses, of different places if there are several."""
        found = (*(place.first for place in self.places), *(place.last for place in self.places))
        return list(dict.fromkeys(found))[:3]

    @property
    def sql(self) -> str:
        """The query that shows all objects, with version IDs if some of them have one."""
        return self.audit.sql(versions=self.versioned > 0)


@dataclass(frozen=True)
class Unlisted:
    """A field that some inventories do not list.

    Attributes:
        field: AWS's name.
        buckets: those of the inventories, in order.
        kinds: of the audits that find nothing there.
    """

    field: str
    buckets: Sequence[str]
    kinds: Sequence[str]

    def __str__(self) -> str:
        count = len(self.buckets)
        of = f"inventory of {self.buckets[0]}" if count == 1 else f"inventories of {count:,} buckets"
        does = "does" if count == 1 else "do"
        # S3 gives no status to objects that no rule replicates: rows do not show whether the field is configured.
        otherwise = ", or nothing there is replicated" if self.field == "ReplicationStatus" else ""
        return f"the {of} {does} not list {self.field}{otherwise}, which these audits need: {', '.join(self.kinds)}"


@dataclass(frozen=True)
class AuditReport:
    """All findings, those with the most objects first, and the fields that are missing for more."""

    findings: Sequence[AuditFinding]
    unlisted: Sequence[Unlisted]

    @property
    def objects(self) -> Mapping[str, int]:
        """The number of objects by kind. 0 only if all inventories list what the audit needs."""
        found = dict.fromkeys(KINDS, 0)
        for one in self.findings:
            found[one.audit.kind] += one.objects
        unknown = {kind for one in self.unlisted if one.field != FIELDS[_SIZES] for kind in one.kinds}
        return {kind: objects for kind, objects in found.items() if objects or kind not in unknown}


def audits(
    name: str,
    buckets: Iterable[str],
    tables: Iterable[AuditedTable],
    folders: Iterable[TableKey],
    configuration: str = "",
) -> list[Audit]:
    """Return the audits of a table of inventories.

    Args:
        name: SQL name of the table.
        buckets: those that it has inventories of.
        tables: tables whose ledgers should know the objects below their prefixes.
        folders: further prefixes whose objects have a purpose.
        configuration: only inventories of this configuration. Empty: all.
    """
    objects, tables = f"bronze.{name}", list(tables)
    chosen = f"stored.configuration = {literal(configuration)} AND " if configuration else ""
    rows = f"FROM {objects} AS stored WHERE {chosen}"
    conditions = {
        "unencrypted": f"{_STORED} AND stored.encryption_status = 'NOT-SSE'",
        "replication_failed": "stored.replication_status = 'FAILED'",
        "replication_pending": f"stored.replication_status = 'PENDING' AND {_OLDER}",
        "noncurrent": f"{_STORED} AND NOT stored.is_latest",
        "lone_delete_markers": _lone_marker(objects),
    }
    found = [Audit(kind, "", f"{rows}{condition}") for kind, condition in conditions.items()]
    known = [*(table.key for table in tables), *folders]
    inventoried = sorted(set(buckets))
    audited = sorted((table for table in tables if table.key.bucket in inventoried), key=lambda table: table.key)
    found += [_orphaned(table, rows) for table in audited]
    return found + [
        _outside(bucket, prefixes, rows)
        for bucket in inventoried
        if "" not in (prefixes := sorted({key.prefix for key in known if key.bucket == bucket}))
    ]


def unlisted(rows: Iterable[Mapping[str, object]]) -> list[Unlisted]:
    """Return the fields that inventories do not list.

    Args:
        rows: of each bucket with objects: `bucket`, and for each of `FIELDS` the number of objects that have a value.
    """
    listed = sorted(rows, key=lambda row: str(row["bucket"]))
    found = []
    for column, field in FIELDS.items():
        kinds = [kind for kind, fields in _NEEDS.items() if column in fields]
        if buckets := [str(row["bucket"]) for row in listed if not row[column]]:
            found.append(Unlisted(field, buckets, kinds))
    return found


def _lone_marker(objects: str) -> str:
    same = " AND ".join(f"version.{name} = stored.{name}" for name in ("bucket", "configuration", "key"))
    version = f"SELECT 1 FROM {objects} AS version WHERE {same} AND NOT version.is_delete_marker"
    return f"stored.is_delete_marker AND NOT EXISTS ({version})"


def _orphaned(table: AuditedTable, rows: str) -> Audit:
    bucket, prefix = table.key.bucket, table.key.prefix
    conditions = [f"stored.bucket = {literal(bucket)}", _PRESENT, _OLDER, _NO_FOLDER]
    conditions += [f"startswith(stored.key, {literal(prefix)})"] if prefix else []
    # No ledger knows the work files of Spark, Delta and Tidegate.
    conditions += [f"NOT stored.key RLIKE {literal(pattern)}" for pattern in (HIDDEN_FOLDER, HIDDEN_FILE)]
    if table.has_ledger:
        # A name of letters needs no quotes, which a shell would read.
        ledger = table.name if table.name.isidentifier() else quoted(table.name)
        decision = f"SELECT 1 FROM ledger.{ledger} AS known WHERE known.kind = 'row' AND known.key = stored.key"
        conditions.append(f"NOT EXISTS ({decision})")
    return Audit("orphaned", table.name, f"{rows}{' AND '.join(conditions)}", literal(f"{bucket}/{prefix}"))


def _outside(bucket: str, prefixes: Sequence[str], rows: str) -> Audit:
    conditions = [_PRESENT, _NO_FOLDER, *(f"NOT startswith(stored.key, {literal(prefix)})" for prefix in prefixes)]
    of_any = f"{rows}{' AND '.join(conditions)}"
    folder = "if(contains(stored.key, '/'), concat(substring_index(stored.key, '/', 1), '/'), '')"
    place = f"concat(stored.bucket, '/', {folder})"
    of_one = f"{rows}stored.bucket = {literal(bucket)} AND {' AND '.join(conditions)}"
    return Audit("outside", bucket, of_one, place, "" if prefixes else of_any)


def audit_queries(audits: Iterable[Audit]) -> Iterator[str]:
    """Yield queries that find the objects of all audits: with the key of the audit, and the place.

    Audits that differ in the bucket only are one query, because thousands of buckets would be as many scans.
    """
    alike: dict[str, list[Audit]] = {}
    for audit in audits:
        if audit.of_buckets:
            alike.setdefault(audit.of_buckets, []).append(audit)
        else:
            yield _query(literal(audit.key), audit.place, audit.rows)
    for rows, some in alike.items():
        buckets = ", ".join(literal(audit.of) for audit in some)
        key = f"concat({literal(f'{some[0].kind} ')}, stored.bucket)"
        yield _query(key, some[0].place, f"{rows} AND stored.bucket IN ({buckets})")


def _query(key: str, place: str, rows: str) -> str:
    columns = "stored.bucket, stored.key, stored.size, stored.version_id"
    return f"SELECT {key} AS audit, {place} AS place, {columns} {rows}"
