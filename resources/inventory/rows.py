"""The rows of an inventory, as Spark reads them: for the table of inventories, and for the comparison with a ledger."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidegate.platform.core.inventory.columns import FIELDS, column_name, column_type
from tidegate.platform.core.inventory.manifest import Inventory
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.schema.column_types import quoted
from tidegate.resources.spark.delta import Delta


def inventory_rows(delta: Delta, inventory: Inventory) -> DataFrame:
    """Return the lines of an inventory in the columns of the table of inventories, without `bucket`.

    A field that its configuration leaves out is NULL. A value that is not of its column's type fails the query.
    """
    fields = {column_name(name): name for name in inventory.columns}
    fields.pop("bucket", None)
    if not inventory.files:  # of an empty bucket, or prefix
        empty = ", ".join(f"{quoted(name)} {column_type(name)}" for name in {**FIELDS, **fields})
        return delta.session.createDataFrame([], empty)
    reader = delta.session.read.format(inventory.format)
    if inventory.format == "csv":
        # The format of RFC 4180, without a header.
        reader = reader.options(header="false", quote='"', escape='"')
    schema = ", ".join(f"{quoted(name)} {kind}" for name, kind in inventory.columns.items())
    raw = reader.schema(schema).load([S3Address(inventory.bucket, file.key).s3a for file in inventory.files])

    def column(name: str) -> Column:
        if name not in fields:
            return F.lit(None).cast(column_type(name))
        value = F.col(quoted(fields[name]))
        if inventory.format == "csv":
            value = F.nullif(value, F.lit(""))  # An empty cell is a missing value.
            value = F.url_decode(value) if name == "key" else value
        return value.cast(column_type(name))

    return raw.select(*(column(name).alias(name) for name in {**FIELDS, **fields}))
