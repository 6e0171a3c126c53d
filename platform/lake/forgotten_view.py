"""SQL view of the requests to forget persons: `lake.forgotten`, with a row for each request and table."""

from __future__ import annotations

import hashlib

from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.spark.catalog import SqlCatalog

_SCHEMA, _OBJECTS_SCHEMA, _NAME = "lake", "lake_objects", "forgotten"
#: Objects that are read as rows: folder below the lake root, and columns, by SQL name.
_OBJECTS = {
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
_ID = "regexp_extract(_metadata.file_path, '(?<![^/])([^/]+)[.]json$', 1)"
#: A request whose rows were not looked for yet has one row, without a table.
QUERY = f"""
WITH found AS (
    SELECT {_ID} AS request, at, not_searched, explode_outer(tables) AS one FROM lake_objects.forget_found
), erased AS (
    SELECT {_ID} AS request, at, explode_outer(tables) AS one FROM lake_objects.forget_taken
), done AS (
    SELECT {_ID} AS request, at FROM lake_objects.forget_done
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


def name_forgotten(catalog: SqlCatalog, root: LakeRoot) -> None:
    """Make `lake.forgotten` on the Spark server, unless it is up to date. An empty folder gives an empty view.

    Args:
        catalog: the server's names.
        root: the lake root.
    """
    made_of = hashlib.sha256(repr((root.uri(), _OBJECTS, QUERY)).encode()).hexdigest()
    if catalog.view_mark(_SCHEMA, _NAME) == made_of:
        return
    for name, (folder, columns) in _OBJECTS.items():
        definition = f"({columns}) USING json OPTIONS (recursiveFileLookup 'true')"
        catalog.name_table(_OBJECTS_SCHEMA, name, root.uri(*folder.split("/")), definition)
    catalog.make_schema(_SCHEMA)
    catalog.name_view(_SCHEMA, _NAME, QUERY, mark=made_of)
