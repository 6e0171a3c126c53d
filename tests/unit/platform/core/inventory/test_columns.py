"""The columns of the table of inventories."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.session import get_session

from tidegate.platform.core.inventory.columns import (
    FIELDS,
    PARTITIONS,
    column_name,
    column_type,
    first_columns,
    with_fields,
)
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.schema.column_statistics import STATISTICS


def test_a_field_has_one_column_however_a_format_names_it() -> None:
    shape: Any = get_session().get_service_model("s3").shape_for("InventoryOptionalField")
    optional = {column_name(name) for name in shape.enum}
    always = {column_name(name) for name in ("Key", "VersionId", "IsLatest", "IsDeleteMarker")}
    assert optional | always >= set(FIELDS)
    assert {column_type(name) for name in (optional | always) - set(FIELDS)} == {"string"}
    assert column_name("ETag") == column_name("e_tag") == "e_tag"
    assert column_name("IsMultipartUploaded") == column_name("is_multipart_uploaded") == "is_multipart_uploaded"
    assert column_name("Odd name;") == "odd_name_"


def test_the_table_is_born_with_all_known_fields_and_takes_later_ones_as_text() -> None:
    born = first_columns(())
    assert born.partitions == PARTITIONS
    assert [field.name for field in born.fields] == ["inventory_created", *FIELDS, *PARTITIONS]
    assert with_fields(born, ["key", "size", "bucket"], "s3://x/manifest.json") == born
    wider = with_fields(born, ["key", "retired_at"], "s3://x/manifest.json")
    assert [(field.name, field.type.sql()) for field in wider.columns][-1] == ("retired_at", "string")
    assert wider.partition_fields == born.partition_fields


def test_delta_keeps_statistics_of_the_fields_by_which_people_look_for_objects() -> None:
    kept = first_columns(()).growth[STATISTICS].split(",")
    assert kept == ["`inventory_created`", "`key`", "`size`", "`last_modified_date`"]


@pytest.mark.parametrize("name", ["configuration", "_batch", "inventory_created"])
def test_a_field_with_the_name_of_our_own_column_is_refused(name: str) -> None:
    with pytest.raises(InventoryError, match=f"s3://x/manifest.json: its field {name} has the name of a column"):
        with_fields(first_columns(()), ["key", name], "s3://x/manifest.json")
