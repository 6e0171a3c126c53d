"""Audits of the objects in a table of inventories: their SQL, and what they say of fields that are not listed."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot

from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.storage.audits import (
    FIELDS,
    KINDS,
    Audit,
    AuditedTable,
    AuditFinding,
    AuditPlace,
    AuditReport,
    audit_queries,
    audits,
    orphans_query,
    unlisted_fields,
)
from tidegate.platform.query.query_tables import asked_tables

ORDERS = AuditedTable(TableKey("acme", "it's/"), "orders", "s3a://lake/ledger/orders")
NEW = AuditedTable(TableKey("acme", "new/"), "new")
ELSEWHERE = AuditedTable(TableKey("elsewhere", "x/"), "elsewhere", "s3a://lake/ledger/x")
AUDIT = Audit("noncurrent", "", "FROM bronze.objects AS stored WHERE true")


def made(counted: str = "") -> list[Audit]:
    folders = [TableKey("lake", ""), TableKey("acme", "done/")]
    return audits("objects", ["acme", "lake", "other"], [ORDERS, NEW, ELSEWHERE], folders, counted)


def found(*places: AuditPlace) -> AuditFinding:
    return AuditFinding(AUDIT, sum(place.objects for place in places), 7, places)


def test_each_kind_has_an_audit_and_tables_and_buckets_have_their_own() -> None:
    subjects = [(audit.kind, audit.of) for audit in made()]
    assert {kind for kind, _ in subjects} == set(KINDS)
    # A bucket that is one prefix has no object outside; a table in a bucket without an inventory has no orphan.
    assert subjects[5:] == [("orphaned", "orders"), ("orphaned", "new"), ("outside", "acme"), ("outside", "other")]


def test_each_query_is_one_that_the_sql_command_can_name_the_tables_of() -> None:
    for audit in made("configuration <> 'daily'"):
        parsed = sqlglot.parse_one(audit.sql, read="databricks")
        assert isinstance(parsed, sqlglot.exp.Select)
        # Without its version, a job on a noncurrent version would work on the current one.
        assert parsed.named_selects == ["bucket", "key", "version_id", "size"]
        assert "configuration <> 'daily'" in audit.sql
        ledger = {("ledger", "orders")} if audit.of == "orders" else set()
        assert asked_tables(audit.sql) == {("bronze", "objects"), *ledger}
        # A shell leaves them alone in double quotes.
        assert not set('$`!"') & set(audit.sql)


def test_objects_outside_are_below_no_tables_prefix_and_no_folder_that_is_written() -> None:
    (outside,) = (audit.rows for audit in made() if (audit.kind, audit.of) == ("outside", "acme"))
    assert r"NOT IN ('done/', 'it\'s/', 'new/')" in outside
    assert "x/" not in outside


def test_thousands_of_tables_are_one_query_that_looks_folders_up() -> None:
    tables = [
        AuditedTable(TableKey("acme", f"{n % 7}/t{n}/" if n % 2 else f"t{n}/"), f"t{n}", f"s3a://lake/{n}")
        for n in range(4_000)
    ]
    every = audits("objects", ["acme"], tables, [])
    (outside,) = (audit.rows for audit in every if audit.kind == "outside")
    assert outside.count("regexp_extract") == 2
    assert not any("ledger." in query for query in audit_queries(every))
    query = orphans_query("objects", [audit for audit in every if audit.table], "known_x", "configuration <> 'daily'")
    parts = "bronze.objects", "known_x AS", "regexp_extract", "'orphaned t"
    assert [query.count(part) for part in parts] == [1, 1, 2, 4_000]
    assert "configuration <> 'daily'" in query
    assert "'orphaned t7', 'acme', '0/t7/', '7'" in query


@pytest.mark.parametrize("root", ["my lake", "a%20b"])
def test_a_ledger_is_known_by_its_folder_because_spark_escapes_the_root(root: str) -> None:
    """`_metadata.file_path` has an escape for each of these roots."""
    table = AuditedTable(TableKey("acme", "x/"), "x", f"s3a://lake/{root}/ledger/acme.x~20y")
    (audit,) = (audit for audit in audits("objects", ["acme"], [table], []) if audit.table)
    query = orphans_query("objects", [audit], "known")
    assert "'x/', 'acme.x~20y')" in query
    assert root not in query


def test_the_query_of_orphans_can_be_parsed_with_tables_of_every_name() -> None:
    some = [audit for audit in made() if audit.table]
    parsed = sqlglot.parse_one(orphans_query("objects", some, "known"), read="databricks")
    assert isinstance(parsed, sqlglot.exp.Select)
    assert parsed.named_selects == ["audit", "place", "bucket", "key", "size"]


def test_an_object_is_an_orphan_unless_the_ledger_of_its_own_table_knows_it() -> None:
    """The query runs in another engine. Two tables have the same prefix in two buckets, and one is inside another."""
    folders = {
        "acme.x": TableKey("acme", "x/"),
        "other.x": TableKey("other", "x/"),
        "deep": TableKey("acme", "z/y/"),
        "around": TableKey("acme", "z/"),
    }
    tables = [AuditedTable(key, name, f"s3a://lake/ledger/{name}") for name, key in folders.items()]
    orphaned = [audit for audit in audits("objects", ["acme", "other"], tables, []) if audit.table]
    query = sqlglot.transpile(orphans_query("objects", orphaned, "known"), read="databricks", write="duckdb")[0]
    objects = [
        ("acme", "x/both"),
        ("other", "x/both"),
        ("other", "x/only-there"),
        ("acme", "z/y/1"),
        ("acme", "z/2"),
        ("acme", "z/known"),
        ("acme", "x/_hidden"),
        ("acme", "elsewhere"),
    ]
    with duckdb.connect() as db:
        db.execute("CREATE SCHEMA bronze")
        db.execute(
            "CREATE TABLE bronze.objects AS SELECT bucket, key, 1 AS size, NULL AS version_id, NULL AS is_latest, "
            "NULL AS is_delete_marker, DATE '2026-11-01' AS last_modified_date, DATE '2026-11-09' AS inventory_created "
            f"FROM (VALUES {', '.join(map(repr, objects))}) AS every(bucket, key)"
        )
        db.execute("CREATE TABLE known AS FROM (VALUES ('acme.x', 'x/both'), ('around', 'z/known')) AS x(folder, key)")
        found = db.execute(query).fetchall()
    assert sorted((row[0], row[2], row[3]) for row in found) == [
        ("orphaned around", "acme", "z/2"),
        ("orphaned deep", "acme", "z/y/1"),
        ("orphaned other.x", "other", "x/both"),
        ("orphaned other.x", "other", "x/only-there"),
    ]


def test_conditions_on_one_row_are_one_query_however_many_buckets_there_are() -> None:
    found = [
        audit for audit in audits("objects", ["acme", "alone", "it's"], [ORDERS, NEW], [], "configuration <> 'daily'")
    ]
    assert len({audit.key for audit in found}) == len(found)
    *others, on_rows = audit_queries(found)
    assert r"IN ('alone', 'it\'s')" in on_rows
    shared = ("unencrypted", "replication_failed", "replication_pending", "noncurrent", "outside")
    assert all(f"'{kind} '" in on_rows for kind in shared)
    alone = [("lone_delete_markers", ""), ("outside", "acme")]
    assert [query.partition(" AS audit")[0] for query in others] == [f"SELECT '{kind} {of}'" for kind, of in alone]
    for query in (*others, on_rows):
        parsed = sqlglot.parse_one(query, read="databricks")
        assert isinstance(parsed, sqlglot.exp.Select)
        assert parsed.named_selects == ["audit", "place", "bucket", "key", "size"]
        assert "configuration <> 'daily'" in query


def test_a_field_is_not_listed_where_no_object_has_a_value() -> None:
    full = dict.fromkeys(FIELDS, 3)
    rows = [
        {"bucket": "c", **full, "encryption_status": 0},
        {"bucket": "a", **full, "encryption_status": 0, "replication_status": 0},
        {"bucket": "b", **full, "encryption_status": 1, "size": 0},
    ]
    encryption, replication, size = unlisted_fields(rows)
    assert (encryption.field, encryption.buckets, encryption.kinds) == ("EncryptionStatus", ["a", "c"], ["unencrypted"])
    assert str(encryption) == (
        "the inventories of 2 buckets do not list EncryptionStatus, which these audits need: unencrypted"
    )
    assert str(replication) == (
        "the inventory of a does not list ReplicationStatus, or nothing there is replicated, which these audits need: "
        "replication_failed, replication_pending"
    )
    assert "lone_delete_markers" not in size.kinds
    assert unlisted_fields([{"bucket": "a", **full}]) == []


def test_nothing_was_found_only_if_every_inventory_lists_what_the_audit_needs() -> None:
    known = AuditReport([found(AuditPlace("acme", 2, 7, "s3://acme/a", "s3://acme/b"))], [])
    assert known.objects == {**dict.fromkeys(KINDS, 0), "noncurrent": 2}
    full = dict.fromkeys(FIELDS, 3)
    rows = [{"bucket": "a", **full, "encryption_status": 0, "is_latest": 0, "size": 0}, {"bucket": "b", **full}]
    unknown = AuditReport(known.findings, unlisted_fields(rows)).objects
    assert "unencrypted" not in unknown
    # Objects that were found are counted; without sizes, the number of objects is known all the same.
    assert (unknown["noncurrent"], unknown["outside"]) == (2, 0)


def test_examples_are_of_different_places() -> None:
    audit_place = AuditPlace("acme", 3, 7, "s3://acme/a", "s3://acme/c")
    assert found(audit_place).examples == ["s3://acme/a", "s3://acme/c"]
    other = AuditPlace("other", 1, 0, "s3://other/a", "s3://other/a")
    assert found(audit_place, other).examples == ["s3://acme/a", "s3://other/a", "s3://acme/c"]
