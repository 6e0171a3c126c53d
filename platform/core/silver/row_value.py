"""The row that a row of bronze has of the table: itself, a struct in it, or each element of an array in it."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Array, Field, Struct, quote_name
from tidegate.platform.core.schema.sql_literal import parenthesize
from tidegate.platform.core.silver.expectations import skip_condition
from tidegate.platform.core.silver.expression_types import TypesOf, UnsuitableColumns, types_over

#: The value of `row` in a row of bronze.
ROW_VALUE = "_tidegate_value"
#: The place of that value in the array that `row` is.
ELEMENT = "_tidegate_element"
#: Stands for bronze, or for a view over some of its rows, in a relation of rows.
BRONZE = "{bronze}"


def rows_of(row: str | None, relation: str = BRONZE, *, is_list: bool = False) -> str:
    """Return a relation of bronze's rows with `row` as `ROW_VALUE`.

    Args:
        row: as in `MergeRules`.
        relation: the rows of bronze.
        is_list: as in `MergeRules`. An array without elements has one row, without a value.
    """
    if row is None:
        return relation
    value = f"posexplode_outer({row}) AS ({ELEMENT}, {ROW_VALUE})" if is_list else f"{row} AS {ROW_VALUE}"
    return f"(SELECT *, {value} FROM {relation})"


def raw_columns(
    silver: SilverSpec, columns: Sequence[Field], types_of: TypesOf, relation: str = BRONZE
) -> tuple[list[tuple[Field, str]], bool]:
    """Return the columns of a row, before they are chosen and decoded, with the SQL of their values.

    Returns also whether `row` is an array of rows.

    Args:
        columns: bronze's columns.
        types_of: returns the types of SQL expressions.
        relation: bronze's rows.
    """
    if silver.row is None:
        return [(field, quote_name(field.name)) for field in columns], False
    (kind,) = types_over(types_of, relation, ["row"])([parenthesize(silver.row)])
    is_list = isinstance(kind, Array)
    row = kind.element if isinstance(kind, Array) else kind
    if not isinstance(row, Struct):
        raise UnsuitableColumns(
            f"has no columns in `row` of `silver`: {silver.row} is {kind.sql()}, and neither a struct nor an array of "
            "structs"
        )
    return [(field, f"{ROW_VALUE}.{quote_name(field.name)}") for field in row.fields], is_list


def skipped_rows(silver: SilverSpec, *, is_list: bool) -> str | None:
    """Return the condition that a row is not a change. An array without elements has none, whatever the options say."""
    conditions = [condition for condition in (skip_condition(silver), is_list and f"{ROW_VALUE} IS NULL") if condition]
    return " OR ".join(f"({condition})" for condition in conditions) if is_list else skip_condition(silver)
