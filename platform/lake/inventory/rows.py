"""The rows of an inventory, as Spark reads them: for the table of inventories, and for the comparison with a ledger."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.columns import FIELDS, NULL_VERSION, column_name, column_type
from tidegate.platform.core.inventory.manifest import Inventory
from tidegate.platform.core.keys.s3_address import spark_pattern
from tidegate.platform.core.schema.column_types import quote_name
from tidegate.platform.lake.spark.delta import Delta


def inventory_rows(delta: Delta, inventory: Inventory) -> DataFrame:
    """Return the lines of an inventory in the columns of the table of inventories, without `bucket`.

    A field that its configuration leaves out is NULL. In an inventory of all versions, the null version has the ID
    `null`. A value that is not of its column's type fails the query.
    """
    if not inventory.files:  # of an empty bucket, or prefix
        columns = (*FIELDS, *(name for name in _fields(inventory) if name not in FIELDS))
        empty = ", ".join(f"{quote_name(name)} {column_type(name)}" for name in columns)
        return delta.session.createDataFrame([], empty)
    return _raw_rows(delta, [inventory]).select(*_columns(inventory))


def rows_of_alike(delta: Delta, inventories: Sequence[Inventory], file: str) -> DataFrame:
    """Return the lines of inventories of one format and of the same columns, as `inventory_rows` does. One has a file.

    Spark reads all of them at once, so many small inventories cost little more than one.

    Args:
        delta: of the lake.
        inventories: those of files that have plain addresses.
        file: name of the column that gets the `s3a://` address of the line's file.
    """
    return _raw_rows(delta, inventories).select(F.col("_metadata.file_path").alias(file), *_columns(inventories[0]))


def _raw_rows(delta: Delta, inventories: Sequence[Inventory]) -> DataFrame:
    first, *_ = inventories
    reader = delta.session.read.format(first.format)
    if first.format == "csv":
        # The format of RFC 4180, without a header.
        reader = reader.options(header="false", quote='"', escape='"')
    schema = ", ".join(f"{quote_name(name)} {kind}" for name, kind in first.columns.items())
    return reader.schema(schema).load(
        [spark_pattern(address) for inventory in inventories for address in inventory.addresses]
    )


def _columns(inventory: Inventory) -> list[Column]:
    fields = _fields(inventory)

    def column(name: str) -> Column:
        if name not in fields:
            return F.lit(None).cast(column_type(name))
        value = F.col(quote_name(fields[name]))
        if inventory.columns[fields[name]] == "string" and name != "key":
            value = F.nullif(value, F.lit(""))  # An empty text is a missing value, as it is in CSV.
        if inventory.format == "csv" and name == "key":
            value = F.url_decode(value)
        if name == "version_id" and "is_latest" in fields:
            value = F.when(column("is_latest").isNotNull(), F.coalesce(value, F.lit(NULL_VERSION))).otherwise(value)
        return value.cast(column_type(name))

    return [column(name).alias(name) for name in {**FIELDS, **fields}]


def _fields(inventory: Inventory) -> dict[str, str]:
    """Return the names of fields by their columns, without `bucket`."""
    fields = {column_name(name): name for name in inventory.columns}
    fields.pop("bucket", None)
    return fields
