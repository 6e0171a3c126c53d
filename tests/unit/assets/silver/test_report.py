"""What a silver asset shows: columns of bronze that its columns come from, also after a run without a merge."""

from __future__ import annotations

import dagster as dg
from dagster._core.definitions.metadata.metadata_set import TableMetadataSet

from tests.unit.conftest import Paper
from tidegate.assets.keys import LakeNames, silver_key
from tidegate.assets.silver.report import columns_metadata, known_sources
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.silver.merge import MergeResult


def test_a_run_without_a_merge_repeats_the_lineage_of_the_last_merge(
    paper: Paper, instance: dg.DagsterInstance
) -> None:
    spec = paper.config.tables[0]
    key = silver_key(spec.name)
    assert known_sources(None, instance, key) == {}
    sources = {"id": ["id"], "_deleted": ["at", "state"]}
    merged = MergeResult(1, 1, 1, {}, None, 1, 0, 0, sources=sources)
    assert known_sources(merged, instance, key) == sources
    schema = TableSchema(tuple(Field(name, simple_type("bigint")) for name in ("id", "_deleted", "other")))
    metadata = columns_metadata(LakeNames(), spec, schema, sources)
    instance.report_runless_asset_event(dg.AssetMaterialization(key, metadata=metadata))
    assert known_sources(None, instance, key) == sources
    assert [column.description for column in metadata["dagster/column_schema"].columns] == [
        "from bronze.orders: id",
        "whether the key is deleted; from bronze.orders: at, state; only in `silver.orders_with_tombstones`",
        None,
    ]
    assert "dagster/column_lineage" not in columns_metadata(LakeNames(), spec, schema, {})


def test_columns_have_the_descriptions_of_lake_yaml(paper: Paper) -> None:
    spec = paper.config.tables[0].model_copy(update={"descriptions": {"ID": "number of the order"}})
    schema = TableSchema(tuple(Field(name, simple_type("bigint")) for name in ("id", "_batch")))
    described = columns_metadata(LakeNames(), spec, schema, {"id": ["id"]})["dagster/column_schema"]
    assert [column.description for column in described.columns] == [
        "number of the order; from bronze.orders: id",
        "number of the batch that has the row",
    ]


def test_dagster_reads_the_columns_and_their_lineage(paper: Paper) -> None:
    schema = TableSchema((Field("id", simple_type("bigint")),))
    metadata = columns_metadata(LakeNames(), paper.config.tables[0], schema, {"id": ["id"]})
    read = TableMetadataSet.extract(metadata)
    assert {"dagster/column_schema": read.column_schema, "dagster/column_lineage": read.column_lineage} == metadata
