"""Which engines read a table of which features."""

from __future__ import annotations

import pytest

from tidegate.platform.core.catalog.readers import Reader, readers_of
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema

READ_BY_ALL = [reader.name for reader in Reader]


def reads(*features: str) -> list[str]:
    return [found.reader.name for found in readers_of(features, TableSchema()) if found.reads]


@pytest.mark.parametrize("feature", ["appendOnly", "invariants", "changeDataFeed", "rowTracking", "domainMetadata"])
def test_a_feature_that_binds_writers_only_forbids_nobody(feature: str) -> None:
    assert reads(feature) == READ_BY_ALL


def test_silver_s_deletion_vectors_are_read_by_all() -> None:
    assert reads("appendOnly", "invariants", "deletionVectors", "timestampNtz") == READ_BY_ALL


def test_each_engine_says_which_features_forbid_it() -> None:
    found = {each.reader: each for each in readers_of(("columnMapping", "typeWidening", "invariants"), TableSchema())}
    assert str(found[Reader.SPARK]) == "Spark 4.2 with Delta 4.4: yes"
    assert str(found[Reader.DELTA_RS]) == "delta-rs 1.6.6: no, because of typeWidening"
    assert str(found[Reader.POLARS]) == "Polars 2.1: no, because of columnMapping, typeWidening"
    assert str(found[Reader.ATHENA]) == "Athena engine 3: no, because of typeWidening"
    assert found[Reader.DUCKDB].reads
    assert found[Reader.TRINO].reads


@pytest.mark.parametrize(
    ("physical", "partitions", "reads"),
    [("col-7", ("day",), False), ("id", ("day",), True), ("col-7", (), True), (None, ("day",), True)],
)
def test_duckdb_reads_no_partitions_of_a_table_whose_files_have_other_names(
    physical: str | None, partitions: tuple[str, ...], reads: bool
) -> None:
    """It returns NULL for them, and no error."""
    text = simple_type("string")
    schema = TableSchema((Field("id", text, 1, physical), Field("day", text, 2, "col-8")), partitions)
    found = {each.reader: each for each in readers_of(["columnMapping"], schema)}
    assert found[Reader.DUCKDB].reads is reads
    assert found[Reader.DUCKDB].forbids == (() if reads else ("columnMapping with partitions",))
    assert found[Reader.DELTA_RS].reads


def test_a_feature_that_nobody_has_tried_forbids_everyone_but_spark() -> None:
    assert reads("somethingNew") == ["SPARK"]
