"""What keeps a table of others from its adoption, each with a remedy, and what stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tidegate.platform.core.bronze.adoption import adoption_refusals, kept_lines
from tidegate.platform.lake.spark.results import SERVED_FEATURES

SQL_NAME = "delta.`s3a://landing/orders`"


def _column(name: str = "id", kind: Any = "long", *, nullable: bool = True, **metadata: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "nullable": nullable,
        "metadata": {re.sub("(?<=.)__", ".", key): value for key, value in metadata.items()},
    }


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def _refusals(
    *fields: dict[str, Any], features: tuple[str, ...] = (), properties: Mapping[str, str] | None = None
) -> list[str]:
    schema = _struct(*fields or (_column(),))
    return adoption_refusals(SQL_NAME, features, SERVED_FEATURES, properties or {}, schema)


def test_a_plain_table_is_adopted_whatever_served_features_it_has() -> None:
    assert _refusals() == []
    assert _refusals(features=tuple(SERVED_FEATURES)) == []


@pytest.mark.parametrize(
    ("feature", "remedy"),
    [
        ("catalogManaged", f"ALTER TABLE {SQL_NAME} DROP FEATURE 'catalogManaged'"),
        ("materializePartitionColumns", "DROP FEATURE 'materializePartitionColumns'"),
        ("icebergCompatV1", "CREATE TABLE … AS SELECT"),
        ("icebergCompatV2", "CREATE TABLE … AS SELECT"),
        ("icebergCompatV3", "CREATE TABLE … AS SELECT"),
        ("geospatial", "CREATE TABLE … AS SELECT"),
        ("oneOfNextYear", "CREATE TABLE … AS SELECT"),
    ],
)
def test_a_feature_that_commits_do_not_serve_is_refused_by_name(feature: str, remedy: str) -> None:
    (refusal,) = _refusals(features=(feature, "deletionVectors"))
    assert f"table feature {feature}," in refusal
    assert remedy in refusal


@pytest.mark.parametrize(
    ("properties", "remedy"),
    [
        (
            {"delta.setTransactionRetentionDuration": "interval 1 day"},
            f"ALTER TABLE {SQL_NAME} UNSET TBLPROPERTIES ('delta.setTransactionRetentionDuration')",
        ),
        ({"delta.constraints.positive": "id > 0"}, f"ALTER TABLE {SQL_NAME} DROP CONSTRAINT `positive`"),
        ({"delta.constraints.a b": "id > 0"}, f"ALTER TABLE {SQL_NAME} DROP CONSTRAINT `a b`"),
        ({"delta.columnMapping.mode": "id"}, "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"),
    ],
)
def test_a_property_that_registered_files_would_break_is_refused(properties: dict[str, str], remedy: str) -> None:
    (refusal,) = _refusals(properties=properties)
    assert remedy in refusal


@pytest.mark.parametrize(
    ("metadata", "what"),
    [
        ({"delta__generationExpression": "1"}, "is generated"),
        ({"delta__identity__start": "1"}, "is an identity column"),
        ({"delta__invariants": "id > 1"}, "has an invariant"),
        ({"delta__columnMapping__physicalName": "col-1"}, "is col-1 in data files"),
        ({"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}, "is a CHAR or VARCHAR"),
    ],
)
@pytest.mark.parametrize("depth", ["top", "struct", "array", "key", "value"])
def test_a_column_that_registered_files_would_break_is_refused_at_every_depth(
    metadata: dict[str, str], what: str, depth: str
) -> None:
    inner = _struct(_column("at", **metadata))
    kinds: dict[str, Any] = {
        "struct": inner,
        "array": {"type": "array", "elementType": inner, "containsNull": True},
        "key": {"type": "map", "keyType": inner, "valueType": "long", "valueContainsNull": True},
        "value": {"type": "map", "keyType": "long", "valueType": inner, "valueContainsNull": True},
    }
    (refusal,) = _refusals(_column("at", **metadata)) if depth == "top" else _refusals(_column("s", kinds[depth]))
    path = {"top": "at", "struct": "s.at", "array": "s.element.at", "key": "s.key.at", "value": "s.value.at"}[depth]
    assert refusal.startswith(f"column {path} {what}")


def test_a_column_that_must_not_be_null_is_refused() -> None:
    (refusal,) = _refusals(_column(nullable=False))
    assert f"ALTER TABLE {SQL_NAME} ALTER COLUMN `id` DROP NOT NULL" in refusal
    assert len(_refusals(_column(nullable=False), _column("b", nullable=False), features=("geospatial",))) == 3


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ({"type": "array", "elementType": "long", "containsNull": False}, "c.element"),
        ({"type": "map", "keyType": "long", "valueType": "long", "valueContainsNull": False}, "c.value"),
    ],
)
def test_values_within_a_column_that_must_not_be_null_are_refused(kind: Any, path: str) -> None:
    (refusal,) = _refusals(_column("c", kind))
    assert refusal.startswith(f"values within {path} are never NULL")


def test_a_column_that_is_mapped_to_its_own_name_is_adopted() -> None:
    assert (
        _refusals(_column(delta__columnMapping__physicalName="id"), properties={"delta.columnMapping.mode": "name"})
        == []
    )


def test_what_stays_has_a_line_if_it_means_something() -> None:
    features = ("changeDataFeed", "clustering", "deletionVectors", "inCommitTimestamp", "rowTracking", "v2Checkpoint")
    assert [line.split(":")[0] for line in kept_lines(features, {})] == ["clustering", "v2Checkpoint"]
    enabled = {
        "delta.enableChangeDataFeed": "true",
        "delta.enableDeletionVectors": "true",
        "delta.enableInCommitTimestamps": "true",
        "delta.enableRowTracking": "true",
        "delta.appendOnly": "true",
        "delta.checkpointInterval": "10",
        "owner": "somebody",
    }
    lines = kept_lines(features, enabled)
    assert [line.split(":")[0] for line in lines] == [*features, "delta.appendOnly", "property owner"]
    assert kept_lines((), {}) == []
