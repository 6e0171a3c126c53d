"""Checks of silver tables: bronze has the columns that lake.yaml names for the merge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from tidegate.platform.cli.check.catalog import Check
from tidegate.platform.cli.check.findings import Failed, Finding, checked
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.schema.column_reference import is_expression
from tidegate.platform.core.silver.columns import missing_columns
from tidegate.resources.spark.delta import Delta
from tidegate.resources.spark.remote import SparkRemote
from tidegate.resources.spark.session import session_of_its_own

if TYPE_CHECKING:
    from tidegate.resources.lake_root.store import LakeStore


def check_silver(remote: SparkRemote, store: LakeStore, specs: Sequence[TableSpec]) -> Iterator[Finding]:
    """Check that every existing bronze table has the columns that its `silver` names.

    Args:
        remote: a server that answers.
        store: the store of the lake.
        specs: the tables.
    """
    asked = [spec for spec in specs if spec.silver]
    if not asked:
        return
    with session_of_its_own(remote) as session:
        delta = Delta(remote, lambda: session)
        for spec in asked:
            yield checked(Check.TABLE_SILVER_COLUMNS, spec.name, partial(_named, delta, store, spec))


def _named(delta: Delta, store: LakeStore, spec: TableSpec) -> str:
    silver, birth = spec.silver, store.births.read(spec.table_key.encode())
    try:
        state = delta.table_state(birth.location) if birth else None
    except PySparkException as error:
        raise Failed(f"the table cannot be read: {first_line(error)}") from None
    if silver is None or birth is None or state is None or not state.has_columns:
        return "no bronze table yet"
    fields = state.schema.fields
    if missing := missing_columns(silver, fields):
        raise Failed(
            f"bronze has no column {missing[0]!r}, so every merge fails: name columns of the table in keys and order "
            f"of `silver`; it has {', '.join(field.name for field in fields)}"
        )
    for option, texts, expected in (
        ("keys", [key for key in silver.keys if is_expression(key)], "an expression"),
        ("order", [part for part in silver.order if is_expression(part)], "an expression"),
        ("delete_when", [silver.delete_when] if silver.delete_when else [], "a condition"),
    ):
        for text in texts:
            # The query is only analyzed, no row is read. The text has its own lines: it may end in a comment.
            value = f"coalesce((\n{text}\n), false)" if option == "delete_when" else f"(\n{text}\n)"
            try:
                _ = delta.session.sql(f"SELECT {value} FROM delta.`{birth.location}`").schema
            except PySparkException as error:
                raise Failed(
                    f"{option} of `silver` is not {expected} over bronze's rows, so every merge fails: "
                    f"{first_line(error)}"
                ) from None
    return "bronze has these columns"
