"""Which columns have a description, and which description that is."""

from __future__ import annotations

from typing import Any

from tidegate.platform.core.catalog.descriptions import OWN_COLUMNS, column_descriptions, unknown_descriptions
from tidegate.platform.core.config.silver_columns import HISTORY_COLUMNS, own_columns
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.inventory.columns import CREATED, FIELDS, PARTITIONS
from tidegate.platform.core.schema.names import SOURCE_COLUMNS

SILVER: dict[str, Any] = {"keys": ["customer"], "order": "at", "every": 9, "rename": {"Cust_No": "customer"}}


def spec(**options: Any) -> TableSpec:
    return TableSpec.model_validate({"name": "orders", "prefix": "s3://landing/orders/", "format": "json", **options})


def test_every_column_that_tidegate_adds_has_a_description() -> None:
    history = spec(silver={**SILVER, "stored_as": "scd2", "unavailable": "same"})
    texts = column_descriptions(history)
    assert {*SOURCE_COLUMNS, *HISTORY_COLUMNS, *own_columns(history.silver)} <= texts.keys()
    assert column_descriptions(spec(schema="variant"))["data"] == "the whole JSON object"
    inventories = column_descriptions(TableSpec(name="objects", prefix="s3://landing/inventory/", mode="inventory"))
    assert {CREATED, *PARTITIONS, *FIELDS} == inventories.keys() - OWN_COLUMNS.keys()
    assert column_descriptions(spec()) == OWN_COLUMNS, "a column of a row may have the name of one of a history"


def test_a_column_keeps_its_description_under_its_new_name() -> None:
    given = {"cust_no": "number of the customer", "AT": "when it was ordered"}
    texts = column_descriptions(spec(descriptions=given, silver=SILVER))
    assert (texts["cust_no"], texts["customer"], texts["at"]) == (
        "number of the customer",
        "number of the customer",
        "when it was ordered",
    )
    both = {**given, "Customer": "who ordered"}
    assert column_descriptions(spec(descriptions=both, silver=SILVER))["customer"] == "who ordered"


def test_a_description_of_no_column_is_named_with_the_nearest_names() -> None:
    assert unknown_descriptions(["ID", "at"], ["id", "At"]) is None
    assert unknown_descriptions(["idd", "x"], ["id", "at"]) == (
        "no column is called 'idd'; it has id, at. no column is called 'x'; it has id, at"
    )
    many = [f"c{number}" for number in range(20)] + ["Customer_No"]
    assert unknown_descriptions(["customer_number", "zz"], many) == (
        "no column is called 'customer_number'; the nearest of its 21 names are Customer_No. "
        "no column is called 'zz'; none of its 21 columns has a name like it"
    )
