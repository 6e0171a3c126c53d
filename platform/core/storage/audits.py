"""The audits of the objects in a table of inventories: each is a condition of Spark SQL, which shows them, too."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from tidegate.platform.core.keys.object_key import HIDDEN_FILE, HIDDEN_FOLDER, outermost_prefixes
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_types import quote_name
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
#: No ledger knows folders, objects that may not have been listed yet, and work files of Spark, Delta and Tidegate.
_MAY_BE_ORPHANS = (
    _PRESENT,
    _OLDER,
    _NO_FOLDER,
    *(f"NOT stored.key RLIKE {literal(pattern)}" for pattern in (HIDDEN_FOLDER, HIDDEN_FILE)),
)


@dataclass(frozen=True)
class AuditedTable:
    """A table with a prefix in a bucket that has an inventory.

    Attributes:
        name: SQL name of its ledger.
        ledger: `s3a://` URI of its ledger. Empty if there is none: then no object below the prefix is known.
        inner: prefixes of other tables below its own. `audits` fills them in.
    """

    key: TableKey
    name: str
    ledger: str = ""
    inner: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """Name of the ledger's folder, which no other ledger has. Empty if there is no ledger.

        A table key needs no escapes in the addresses that Spark gives of files. The lake root may need some.
        """
        return self.ledger.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class Audit:
    """A condition on rows of the table of inventories.

    Attributes:
        kind: of `KINDS`.
        of: the table or bucket that it is of. Empty: all buckets.
        rows: the query from FROM on. A row has the alias `stored`.
        place: SQL of what its findings are grouped by.
        on_row: the condition with which `rows` end, if it is about one row. Empty: it compares with other rows, or is
            for few of the rows, which statistics find.
        of_buckets: `on_row` without the bucket, if the audits of other buckets differ in nothing else. Empty: they do.
        table: the table whose ledger should know the objects. None: `rows` has the whole condition.
    """

    kind: str
    of: str
    rows: str
    place: str = "stored.bucket"
    on_row: str = ""
    of_buckets: str = ""
    table: AuditedTable | None = None

    @property
    def key(self) -> str:
        """What no other audit of a table of inventories has."""
        return f"{self.kind} {self.of}"

    @property
    def sql(self) -> str:
        """The query that shows each object. Without the version ID, a job would work on the current version."""
        return f"SELECT bucket, key, version_id, size {self.rows}"


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
        places: the buckets or folders with the most objects, the worst first.
    """

    audit: Audit
    objects: int
    bytes: int
    places: Sequence[AuditPlace]

    @property
    def examples(self) -> list[str]:
        """Up to three addresses, of different places if there are several."""
        found = (*(place.first for place in self.places), *(place.last for place in self.places))
        return list(dict.fromkeys(found))[:3]


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
        for finding in self.findings:
            found[finding.audit.kind] += finding.objects
        unknown = {
            kind
            for missing_field in self.unlisted
            if missing_field.field != FIELDS[_SIZES]
            for kind in missing_field.kinds
        }
        return {kind: objects for kind, objects in found.items() if objects or kind not in unknown}


def audits(
    name: str,
    buckets: Iterable[str],
    tables: Iterable[AuditedTable],
    folders: Iterable[TableKey],
    counted: str = "",
) -> list[Audit]:
    """Return the audits of a table of inventories.

    Args:
        name: SQL name of the table.
        buckets: those that it has inventories of.
        tables: tables whose ledgers should know the objects below their prefixes.
        folders: further prefixes whose objects have a purpose.
        counted: SQL condition of the rows that count. Empty: all.
    """
    objects, tables = f"bronze.{name}", list(tables)
    rows = _rows(name, counted)
    conditions = {
        "unencrypted": f"{_STORED} AND stored.encryption_status = 'NOT-SSE'",
        "replication_failed": "stored.replication_status = 'FAILED'",
        "replication_pending": f"stored.replication_status = 'PENDING' AND {_OLDER}",
        "noncurrent": f"{_STORED} AND NOT stored.is_latest",
    }
    found = [Audit(kind, "", f"{rows}{condition}", on_row=condition) for kind, condition in conditions.items()]
    found.append(Audit("lone_delete_markers", "", f"{rows}{_lone_marker(objects)}"))
    known = sorted([*(table.key for table in tables), *folders])
    inventoried = sorted(set(buckets))
    audited = [
        replace(table, inner=tuple(_prefixes_inside(table.key, known)))
        for table in sorted(tables, key=lambda table: table.key)
        if table.key.bucket in inventoried
    ]
    found += [_orphan_audit(table, rows) for table in audited]
    return found + [
        _outside_prefixes_audit(bucket, prefixes, rows)
        for bucket in inventoried
        if "" not in (prefixes := sorted({key.prefix for key in known if key.bucket == bucket}))
    ]


def unlisted_fields(rows: Iterable[Mapping[str, object]]) -> list[Unlisted]:
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


def _prefixes_inside(key: TableKey, known: Sequence[TableKey]) -> list[str]:
    """Return the prefixes below another one, without those that are inside another of them.

    Args:
        key: the other one.
        known: prefixes in order.
    """
    after = known[bisect_right(known, key) :]
    below = takewhile(lambda other: other.bucket == key.bucket and other.prefix.startswith(key.prefix), after)
    return outermost_prefixes(other.prefix for other in below)


def _orphan_audit(table: AuditedTable, rows: str) -> Audit:
    bucket, prefix = table.key.bucket, table.key.prefix
    conditions = [f"stored.bucket = {literal(bucket)}", *_MAY_BE_ORPHANS]
    conditions += [f"startswith(stored.key, {literal(prefix)})"] if prefix else []
    conditions += [f"NOT startswith(stored.key, {literal(inner)})" for inner in table.inner]
    if table.ledger:
        # A name of letters needs no quotes, which a shell would read.
        ledger = table.name if table.name.isidentifier() else quote_name(table.name)
        decision = f"SELECT 1 FROM ledger.{ledger} AS known WHERE known.kind = 'row' AND known.key = stored.key"
        conditions.append(f"NOT EXISTS ({decision})")
    return Audit(
        "orphaned", table.name, f"{rows}{' AND '.join(conditions)}", literal(f"{bucket}/{prefix}"), table=table
    )


def orphans_query(name: str, orphaned: Sequence[Audit], known: str, counted: str = "") -> str:
    """Return the query of the orphans of all tables, with columns as those of `audit_queries`.

    It reads the objects once, and all ledgers together. A query for each table would read the objects of a bucket as
    often as it has tables.

    Args:
        name: SQL name of the table of inventories.
        orphaned: the audits, each of a table.
        known: name of a view of the rows of the ledgers: `folder`, and `key`.
        counted: SQL condition of the rows that count. Empty: all.
    """
    tables = {audit.key: audit.table for audit in orphaned if audit.table}
    others = "".join(
        f" AND NOT (prefixes.audit = {literal(key)} AND startswith(below.key, {literal(inner)}))"
        for key, table in tables.items()
        for inner in table.inner
    )
    depths = sorted({table.key.prefix.count("/") for table in tables.values()})
    buckets = ", ".join(sorted({literal(table.key.bucket) for table in tables.values()}))
    conditions = [f"stored.bucket IN ({buckets})", *_MAY_BE_ORPHANS]
    prefixes = ", ".join(
        f"({literal(key)}, {literal(table.key.bucket)}, {literal(table.key.prefix)}, {literal(table.folder)})"
        for key, table in tables.items()
    )
    return (
        "SELECT /*+ BROADCAST(prefixes) */ prefixes.audit, concat(below.bucket, '/', prefixes.prefix) AS place, "
        "below.bucket, below.key, below.size "
        f"FROM (SELECT *, explode(array({', '.join(map(_folder, depths))})) AS folder "
        f"{_rows(name, counted)}{' AND '.join(conditions)}) AS below "
        f"JOIN (VALUES {prefixes}) AS prefixes(audit, bucket, prefix, folder) "
        f"ON prefixes.bucket = below.bucket AND prefixes.prefix = below.folder{others} "
        f"LEFT ANTI JOIN {known} AS known ON known.folder = prefixes.folder AND known.key = below.key"
    )


def _rows(name: str, counted: str) -> str:
    return f"FROM bronze.{name} AS stored WHERE {f'{counted} AND ' if counted else ''}"


def _folder(depth: int) -> str:
    """Return the SQL of the first folders of a key. NULL if the key has fewer."""
    return f"nullif(regexp_extract(stored.key, '^(?:[^/]*/){{{depth}}}', 0), '')" if depth else "''"


def _outside_prefixes_audit(bucket: str, prefixes: Sequence[str], rows: str) -> Audit:
    conditions = [_PRESENT, _NO_FOLDER]
    # A list is looked up at once. A condition for each of thousands of prefixes would be tried for each object.
    for depth in sorted({prefix.count("/") for prefix in prefixes}):
        some = ", ".join(literal(prefix) for prefix in prefixes if prefix.count("/") == depth)
        conditions.append(f"coalesce({_folder(depth)} NOT IN ({some}), true)")
    folder = "if(contains(stored.key, '/'), concat(substring_index(stored.key, '/', 1), '/'), '')"
    place = f"concat(stored.bucket, '/', {folder})"
    of_buckets = " AND ".join(conditions)
    of_one = f"stored.bucket = {literal(bucket)} AND {of_buckets}"
    if prefixes:
        return Audit("outside", bucket, f"{rows}{of_one}", place)
    return Audit("outside", bucket, f"{rows}{of_one}", place, on_row=of_one, of_buckets=of_buckets)


def audit_queries(audits: Iterable[Audit]) -> list[str]:
    """Return queries that find the objects of all audits but orphans: with the key of the audit, and the place.

    Conditions on one row are one query, and conditions that differ in the bucket are one condition: each query reads
    the whole table, and there are thousands of buckets.
    """
    queries: list[str] = []
    on_rows: dict[str, list[str]] = {}
    of_buckets: dict[tuple[str, str, str, str], list[str]] = {}
    for audit in audits:
        source = audit.rows.removesuffix(audit.on_row)
        if audit.table:
            continue
        if audit.of_buckets:
            of_buckets.setdefault((source, audit.of_buckets, audit.kind, audit.place), []).append(audit.of)
        elif audit.on_row:
            on_rows.setdefault(source, []).append(_finding_expression(audit.on_row, literal(audit.key), audit.place))
        else:
            columns = "stored.bucket, stored.key, stored.size"
            queries.append(f"SELECT {literal(audit.key)} AS audit, {audit.place} AS place, {columns} {audit.rows}")
    for (source, condition, kind, place), buckets in of_buckets.items():
        among = f"stored.bucket IN ({', '.join(map(literal, buckets))})"
        key = f"concat({literal(f'{kind} ')}, stored.bucket)"
        on_rows.setdefault(source, []).append(_finding_expression(f"{among} AND {condition}", key, place))
    return [*queries, *(_row_findings_query(source, found) for source, found in on_rows.items())]


def _finding_expression(condition: str, key: str, place: str) -> str:
    """Return an expression: the key of the audit, and the place, where the condition holds. Else NULL."""
    return f"CASE WHEN {condition} THEN named_struct('audit', {key}, 'place', {place}) END"


def _row_findings_query(source: str, found: Sequence[str]) -> str:
    columns = "bucket, key, size"
    each = f"explode(array_compact(array({', '.join(found)}))) AS finding"
    rows = f"SELECT {', '.join(f'stored.{name}' for name in columns.split(', '))}, {each} {source}true"
    return f"SELECT finding.audit AS audit, finding.place AS place, {columns} FROM ({rows})"
