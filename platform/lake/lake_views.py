"""SQL views of the lake's records: `lake.intake`, `lake.quarantine` and `lake.forgotten`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from tidegate.platform.core.bronze.ledger import COUNTS, FOLDER_IN_REASON, deciding_value
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.routing.unrouted_events import ROW_FIELDS
from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.spark.catalog import SqlCatalog

SCHEMA = "lake"
SOURCE_SCHEMA = "lake_objects"

#: Objects under the root that are read as rows: folder below the root and columns, by SQL name in the schema
#: `lake_objects`. The columns of a name that exists already are not compared: other columns need another name.
_OBJECTS = {
    "typed_intake": (
        "intake",
        f"counters MAP<STRING, BIGINT>, rows ARRAY<STRUCT<{', '.join(f'{name}: STRING' for name in ROW_FIELDS)}>>",
    ),
    "messages": ("quarantine/messages", "event_id STRING, reason STRING, body STRING"),
    "rows": ("quarantine/rows", "_source_path STRING, reason STRING, raw STRING"),
}
#: The counts of intake: a row for each event that intake logged, and one row for the other events of a tick.
_INTAKE = """
WITH logged AS (
    SELECT counters, rows, _metadata.file_modification_time AS at FROM lake_objects.typed_intake
), entries AS (
    SELECT at, inline(rows) FROM logged
), counted AS (
    SELECT at, rows, explode(counters) AS (outcome, events) FROM logged
), others AS (
    SELECT at, outcome, events - size(filter(rows, one -> one.outcome = counted.outcome)) AS events FROM counted
)
SELECT at, outcome, 1L AS events, queue, bucket, key, reason, event_id, detail AS address, event_type FROM entries
UNION ALL
SELECT at, outcome, events, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM others WHERE events > 0
"""

#: Ledgers of older versions lack the columns `bad_rows_folder` and `event_type`. Spark takes a column of the table
#: first, and then one of the same SELECT: there the name is that of a null.
_OLDER = (
    "CAST(NULL AS STRING) AS bad_rows_folder, bad_rows_folder AS folder, "
    "CAST(NULL AS STRING) AS event_type, event_type AS type"
)

#: Messages and objects that could not be ingested, for each arrival, and the bad rows of an object's last reading. The
#: next decision on an object resolves them. What is not resolved is what the ledger has in quarantine
#: (`deciding_value`). Each ledger is read once, and all of them are sorted together: a sort for each of hundreds would
#: take minutes.
_QUARANTINE = """
WITH logged AS (
    {logged}
), decided AS (
    SELECT *, concat(bucket, key) AS object, explode(array('object', 'row')) AS kind
    FROM (
        SELECT *, n = max(if(is_reading, n, NULL)) OVER (PARTITION BY table_name, key, etag) AS counts,
            if(is_open, NULL, next_at) AS resolved_at
        FROM (
            SELECT *, status IN ('committed', 'quarantined') AS is_reading,
                struct(n, position) = {deciding} AS is_open,
                min(if(status = 'duplicate', NULL, at)) OVER (
                    PARTITION BY table_name, key ORDER BY n, position ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
                ) AS next_at
            FROM logged
        )
    )
    WHERE status = 'quarantined' OR (bad_rows > 0 AND is_reading)
), decisions AS (
    SELECT *, substring_index(coalesce(folder, {older_folder}), '/', -1) AS folder_name
    FROM decided WHERE (kind = 'object' AND status = 'quarantined') OR (kind = 'row' AND (counts OR is_open))
), quarantined_rows AS (
    SELECT _source_path, reason, raw, _metadata.file_path AS path,
        split_part(_metadata.file_path, '/', -2) AS folder_name
    FROM {objects}.rows
)
SELECT 'message' AS kind, CAST(NULL AS STRING) AS table_name, CAST(NULL AS STRING) AS key, reason, body AS raw,
    _metadata.file_modification_time AS at, _metadata.file_path AS address, CAST(NULL AS STRING) AS event_type,
    CAST(NULL AS TIMESTAMP) AS resolved_at
FROM {objects}.messages
UNION ALL
SELECT kind, table_name, key, if(kind = 'row', quarantined_rows.reason, decisions.reason), raw, at,
    coalesce(path, object), decisions.type, resolved_at
FROM decisions LEFT JOIN quarantined_rows
ON kind = 'row' AND object = _source_path AND quarantined_rows.folder_name = decisions.folder_name
WHERE kind = 'object' OR _source_path IS NOT NULL
"""

_FORGOTTEN = "forgotten"
#: Objects that are read as rows: folder below the lake root, and columns, by SQL name.
_FORGET_OBJECTS = {
    "forget_requests": (
        "forgotten/requests",
        "id STRING, `by` STRING, at TIMESTAMP, until TIMESTAMP, kind STRING, digests ARRAY<STRING>",
    ),
    "forget_found": (
        "forgotten/found",
        "at TIMESTAMP, not_searched ARRAY<STRING>, tables ARRAY<STRUCT<`table`: STRING, bronze: BIGINT, "
        "silver: BIGINT, kept: MAP<STRING, BIGINT>, sources: BIGINT>>",
    ),
    "forget_taken": (
        "forgotten/erased",
        "at TIMESTAMP, tables ARRAY<STRUCT<`table`: STRING, bronze: BIGINT, silver: BIGINT, kept: BIGINT, "
        "emptied: BIGINT>>",
    ),
    "forget_done": ("forgotten/done", "at TIMESTAMP"),
}
_REQUEST_ID = "regexp_extract(_metadata.file_path, '(?<![^/])([^/]+)[.]json$', 1)"
#: A request whose rows were not looked for yet has one row, without a table.
FORGOTTEN_QUERY = f"""
WITH found AS (
    SELECT {_REQUEST_ID} AS request, at, not_searched, explode_outer(tables) AS one FROM lake_objects.forget_found
), erased AS (
    SELECT {_REQUEST_ID} AS request, at, explode_outer(tables) AS one FROM lake_objects.forget_taken
), done AS (
    SELECT {_REQUEST_ID} AS request, at FROM lake_objects.forget_done
), places AS (
    SELECT request, one.`table` AS table_name FROM found
    UNION SELECT request, one.`table` AS table_name FROM erased
)
SELECT asked.id AS request, asked.`by` AS asked_by, asked.at AS asked_at, asked.until AS until, asked.kind AS kind,
    size(asked.digests) AS subjects, places.table_name AS table_name, found.at AS found_at,
    found.one.bronze AS found_bronze, found.one.silver AS found_silver,
    aggregate(map_values(found.one.kept), 0L, (total, number) -> total + number) AS found_kept,
    found.one.sources AS left_with_producer, found.not_searched AS not_searched, erased.at AS erased_at,
    erased.one.bronze AS deleted_bronze, erased.one.silver AS deleted_silver, erased.one.kept AS deleted_kept,
    coalesce(erased.one.emptied, 0L) AS emptied_silver,
    done.at AS done_at
FROM lake_objects.forget_requests AS asked
LEFT JOIN places ON places.request = asked.id
LEFT JOIN found ON found.request = asked.id AND found.one.`table` <=> places.table_name
LEFT JOIN erased ON erased.request = asked.id AND erased.one.`table` <=> places.table_name
LEFT JOIN done ON done.request = asked.id
"""


def name_lake_tables(catalog: SqlCatalog, root: LakeRoot, ledgers: Sequence[tuple[str, str]]) -> None:
    """Make `lake.intake` and `lake.quarantine` on the Spark server, unless both exist and are up to date.

    An empty folder gives an empty view. A ledger that is created later is in `lake.quarantine` from the next call on.

    Args:
        catalog: the server's names.
        ledgers: table key and SQL name of every table whose ledger has one.
    """
    named = [(table_key, name, f"ledger.{name}") for table_key, name in ledgers]
    without, quarantine = quarantine_query([]), quarantine_query(named)
    views = {"intake": _INTAKE, "quarantine": quarantine}
    made_of = hashlib.sha256(repr((root.uri(), _OBJECTS, views)).encode()).hexdigest()
    if catalog.view_mark(SCHEMA, "quarantine") == made_of:
        return
    name_lake_objects(catalog, root)
    # The columns are the same without any ledger, and Spark opens each ledger of a query that it analyzes.
    catalog.name_view(SOURCE_SCHEMA, "quarantine", without)
    catalog.derive_view(SCHEMA, "quarantine", SOURCE_SCHEMA, quarantine, mark=made_of)


def name_lake_objects(catalog: SqlCatalog, root: LakeRoot) -> None:
    """Make `lake.intake`, and the tables that it and `lake.quarantine` read, unless they are up to date.

    Args:
        catalog: the server's names.
    """
    made_of = hashlib.sha256(repr((root.uri(), _OBJECTS, _INTAKE)).encode()).hexdigest()
    if catalog.view_mark(SCHEMA, "intake") == made_of:
        return
    name_object_tables(catalog, root)
    catalog.make_schema(SCHEMA)
    catalog.name_view(SCHEMA, "intake", _INTAKE, mark=made_of)


def name_object_tables(catalog: SqlCatalog, root: LakeRoot, schema: str = SOURCE_SCHEMA) -> None:
    """Make the tables of objects that `lake.intake` and `lake.quarantine` read.

    Args:
        catalog: the server's names.
        schema: of the tables.
    """
    for name, (folder, columns) in _OBJECTS.items():
        definition = f"({columns}) USING json OPTIONS (recursiveFileLookup 'true')"
        catalog.name_table(schema, name, root.uri(folder), definition)


def quarantine_query(ledgers: Sequence[tuple[str, str, str]], schema: str = SOURCE_SCHEMA) -> str:
    """Return the query of `lake.quarantine` over some ledgers.

    Args:
        ledgers: table key, SQL name of the table, and SQL name of the ledger.
        schema: of the tables that `name_object_tables` makes.
    """
    # Rows of older versions name the folder in their reason.
    return _QUARANTINE.format(
        objects=schema,
        logged=_union_of_ledgers(ledgers),
        older_folder=f"regexp_extract(reason, '{FOLDER_IN_REASON}', 1)",
        deciding=deciding_value("struct(n, position)", " OVER (PARTITION BY table_name, key)"),
    )


def _union_of_ledgers(ledgers: Sequence[tuple[str, str, str]]) -> str:
    """Return the query of all ledgers' rows that show whether an object is in quarantine."""
    none = (
        "SELECT CAST(NULL AS STRING) AS table_name, CAST(NULL AS STRING) AS bucket, CAST(NULL AS STRING) AS status, "
        "CAST(NULL AS STRING) AS key, CAST(NULL AS STRING) AS etag, CAST(NULL AS STRING) AS reason, "
        "CAST(NULL AS TIMESTAMP) AS at, CAST(NULL AS BIGINT) AS n, CAST(NULL AS INT) AS position, "
        "CAST(NULL AS BIGINT) AS bad_rows, "
        f"{_OLDER} WHERE false"
    )
    return "\n    UNION ALL ".join(
        [
            none,
            *(
                f"SELECT '{name}', '{S3Address(TableKey.decode(table_key).bucket)}', status, key, etag, reason, "
                f"recorded_at, n, position, bad_rows, {_OLDER} FROM {ledger} WHERE {COUNTS}"
                for table_key, name, ledger in ledgers
            ),
        ]
    )


def name_forgotten(catalog: SqlCatalog, root: LakeRoot) -> None:
    """Make `lake.forgotten` on the Spark server, unless it is up to date. An empty folder gives an empty view.

    Args:
        catalog: the server's names.
    """
    made_of = hashlib.sha256(repr((root.uri(), _FORGET_OBJECTS, FORGOTTEN_QUERY)).encode()).hexdigest()
    if catalog.view_mark(SCHEMA, _FORGOTTEN) == made_of:
        return
    for name, (folder, columns) in _FORGET_OBJECTS.items():
        definition = f"({columns}) USING json OPTIONS (recursiveFileLookup 'true')"
        catalog.name_table(SOURCE_SCHEMA, name, root.uri(*folder.split("/")), definition)
    catalog.make_schema(SCHEMA)
    catalog.name_view(SCHEMA, _FORGOTTEN, FORGOTTEN_QUERY, mark=made_of)
