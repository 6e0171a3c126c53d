"""Properties of a Delta table."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from tidegate.platform.core.schema.sql_literal import delta_table, literal, properties_sql
from tidegate.platform.lake.spark.session import command


def set_properties(session: SparkSession, location: str, wanted: Mapping[str, str | None]) -> None:
    """Set properties of a table, and remove those that are None. Without properties, no command runs.

    Args:
        session: runs the commands.
        location: `s3a://` URI of the table.
        wanted: the properties by name.
    """
    table = f"ALTER TABLE {delta_table(location)}"
    if given := {name: text for name, text in wanted.items() if text is not None}:
        command(session, f"{table} SET TBLPROPERTIES ({properties_sql(given)})")
    if gone := ", ".join(literal(name) for name, text in wanted.items() if text is None):
        command(session, f"{table} UNSET TBLPROPERTIES ({gone})")
