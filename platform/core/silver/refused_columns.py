"""Columns that silver or a merge cannot have, because they have the name of one of Tidegate's own."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import CHANGE_COLUMNS, HISTORY_COLUMNS, taken_names
from tidegate.platform.core.schema.column_types import Field, folded, quoted
from tidegate.platform.core.schema.names import OWN_NAME_PREFIX
from tidegate.platform.core.silver.expression_types import UnsuitableColumns


def check_names(fields: Sequence[Field], silver: SilverSpec) -> None:
    """Refuse columns of silver that have the name of one of Tidegate's own.

    Raises:
        UnsuitableColumns: a column has such a name.
    """
    for field in fields:
        if (name := folded(field.name)) in taken_names(silver):
            whose = "a history" if name in HISTORY_COLUMNS else "an export" if name in CHANGE_COLUMNS else "silver"
            raise UnsuitableColumns(
                f"has a column {field.name!r}, and {whose} one of its own by that name: give it another name by "
                "`rename` of `silver`, or leave it out by `except_columns`"
            )


def check_bronze(columns: Sequence[Field]) -> None:
    """Refuse columns of bronze that have the name of a column of a merge.

    Raises:
        UnsuitableColumns: a column has such a name.
    """
    for field in columns:
        if folded(field.name).startswith(OWN_NAME_PREFIX):
            raise UnsuitableColumns(
                f"has a column {field.name!r}, and names that begin with {OWN_NAME_PREFIX} are those of a merge: "
                "drop it. "
                "ALTER TABLE … SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', "
                f"'delta.minWriterVersion' = '5'), then ALTER TABLE … DROP COLUMN {quoted(field.name)}. New rows with "
                "it are quarantined"
            )
