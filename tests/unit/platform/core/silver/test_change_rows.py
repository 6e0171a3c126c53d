"""The queries of a silver table's changes, run by DuckDB over a feed on paper."""

from __future__ import annotations

import duckdb

from tidegate.platform.core.config.silver_columns import SILVER_COLUMNS
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.exact_json import exact_json
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.silver.change_rows import (
    changes_query,
    exported_columns,
    remaining_change_type,
    snapshot_query,
)

#: Change type, key, value, and whether the row is a tombstone.
OURS = [("delete", 1, "a", False), ("insert", 1, "b", False)]
DELTAS = [("update_preimage", 2, "a", False), ("update_postimage", 2, "b", False)]
TO_TOMBSTONE = [("delete", 3, "a", False), ("insert", 3, "a", True)]
BACK = [("delete", 4, "a", True), ("insert", 4, "b", False)]
PURGED = [("delete", 5, "a", True)]
NEW = [("insert", 6, "b", False)]
NULL_KEY = [("delete", None, "a", False), ("insert", None, "b", False)]


def changed(*rows: tuple[str, int | None, str, bool]) -> list[tuple[str, int | None, str]]:
    query = changes_query("t", 7, ["id"], SILVER_COLUMNS)
    values = ", ".join(f"('{kind}', {'NULL' if id is None else id}, '{v}', {gone})" for kind, id, v, gone in rows)
    commit = "7 AS _commit_version, 0 AS _commit_timestamp"
    feed = f"(SELECT *, {commit} FROM (VALUES {values}) AS f(_change_type, id, v, _deleted))"
    query = query.replace("table_changes_by_path('t', 7, 7)", feed).replace("7L", "7").replace("EXCEPT", "EXCLUDE")
    with duckdb.connect() as db:
        found = db.sql(query).fetchall()
    assert {row[1] for row in found} <= {7}
    return sorted((kind, id, v) for kind, _, id, v, _ in found)


def test_an_update_is_one_pair_by_either_merge() -> None:
    assert changed(*OURS, *DELTAS) == [
        ("update_postimage", 1, "b"),
        ("update_postimage", 2, "b"),
        ("update_preimage", 1, "a"),
        ("update_preimage", 2, "a"),
    ]


def test_a_tombstone_is_not_a_row() -> None:
    assert changed(*TO_TOMBSTONE) == [("delete", 3, "a")]
    assert changed(*BACK) == [("insert", 4, "b")]
    assert changed(*PURGED) == []
    assert changed(*NEW) == [("insert", 6, "b")]


def test_a_key_may_be_null() -> None:
    assert changed(*NULL_KEY) == [("update_postimage", None, "b"), ("update_preimage", None, "a")]


def test_the_first_export_has_all_rows_of_the_view() -> None:
    assert snapshot_query("s3a://b/t", 3, SILVER_COLUMNS) == (
        "SELECT 'insert' AS _change_type, 3L AS _commit_version, * FROM delta.`s3a://b/t` VERSION AS OF 3 "
        "WHERE NOT _deleted"
    )


def test_text_has_json_for_what_has_parts_and_no_format_has_a_variant() -> None:
    names = {"a b": "int", "l": "array<int>", "x": "binary", "v": "variant", "d": "struct<v:variant>"}
    fields = [Field(name, parse_sql_type(sql)) for name, sql in (names | {"_deleted": "boolean"}).items()]
    json = [f"{exact_json('`v`')} AS `v`", f"{exact_json('`d`')} AS `d`"]
    assert exported_columns(fields, SILVER_COLUMNS, is_text=False) == ["`a b`", "`l`", "`x`", *json]
    text = ["`a b`", f"{exact_json('`l`')} AS `l`", "base64(`x`) AS `x`", *json]
    assert exported_columns(fields, SILVER_COLUMNS, is_text=True) == text


def test_what_is_left_of_an_update_is_a_delete_or_an_insert() -> None:
    left = [("update_preimage", 1), ("update_postimage", 2), ("update_preimage", 3), ("update_postimage", 3)]
    rows = ", ".join(f"('{kind}', {id})" for kind, id in [*left, ("delete", 4), ("insert", 5)])
    with duckdb.connect() as db:
        query = f"SELECT id, {remaining_change_type(['id'])} FROM (VALUES {rows}) AS t(_change_type, id)"
        found = db.sql(query).fetchall()
    ends = [(1, "delete"), (2, "insert"), (3, "update_postimage"), (3, "update_preimage"), (4, "delete"), (5, "insert")]
    assert sorted(found) == ends
