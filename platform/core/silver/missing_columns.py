"""Columns that `silver` names and no file has had yet: they are NULL until one has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field, fold_name, quote_name
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.schema.untyped_parts import UNTYPED
from tidegate.platform.core.schema.value_encoding import encoding
from tidegate.platform.core.silver.expression_types import LacksColumn, UnsuitableColumns

#: How alike two names are of which one is probably the other, misspelt: from 0 to 1.
_MIN_SIMILARITY = 0.8
#: The option that may name such a column without a type: others give the rows meanwhile. Without an order, rows would
#: have none, and without a condition no row would be deleted.
_UNTYPED_OPTION = "row"
_Result = TypeVar("_Result")


def with_awaited(
    build: Callable[[Sequence[Field]], _Result], columns: Sequence[Field], declared: Mapping[str, str]
) -> _Result:
    """Return what is built over bronze's columns and those that are awaited, which are found one after another.

    A column that `columns` of the table declares has that type. Another one that `row` names is NULL without
    a type, unless its name is like that of a column, which is probably meant.

    Args:
        build: is given the awaited columns. It raises `LacksColumn` for one that is missing.
        columns: bronze's columns.
        declared: `columns` of the table in `lake.yaml`.

    Raises:
        UnsuitableColumns: a column is missing, and its name is probably wrong, or its type is needed.
    """
    awaited: list[Field] = []
    while True:
        try:
            return build(awaited)
        except LacksColumn as error:
            field = _awaited_field(error.column, declared)
            known = [fold_name(field.name) for field in (*columns, *awaited)]
            is_guess = field.type == UNTYPED
            is_misspelt = is_guess and bool(get_close_matches(fold_name(field.name), known, 1, _MIN_SIMILARITY))
            if fold_name(field.name) in known or is_misspelt or (is_guess and error.option != _UNTYPED_OPTION):
                raise UnsuitableColumns(
                    f"{error}. If {error.column} is right and no file has had it yet, give its type in `columns` of "
                    "the table: then it is NULL until a file has it"
                ) from None
            awaited.append(field)
        except UnsuitableColumns as error:
            untyped = [field.name for field in awaited if field.type == UNTYPED]
            if not untyped:
                raise
            raise UnsuitableColumns(
                f"{error}. No file has had {', '.join(untyped)} yet: give the type in `columns` of the table"
            ) from None


def _awaited_field(name: str, declared: Mapping[str, str]) -> Field:
    for known, kind in declared.items():
        if fold_name(known) == fold_name(name):
            return Field(known, parse_sql_type(kind))
    return Field(name, UNTYPED)


def with_nulls(relation: str, awaited: Sequence[Field]) -> str:
    """Return a relation of bronze's rows that has the awaited columns, too."""
    if not awaited:
        return relation
    nulls = (
        f"NULL AS {quote_name(field.name)}"
        if field.type == UNTYPED
        else f"CAST(NULL AS {field.type.sql()}) AS {quote_name(field.name)}"
        for field in awaited
    )
    return f"(SELECT *, {', '.join(nulls)} FROM {relation})"


def awaited_encodings(silver: SilverSpec, names: Sequence[str]) -> list[tuple[Field, str]]:
    """Return the columns of a feed that `decode` names and that no row has had a value of yet, with SQL of them.

    Files of JSON do not have such a column. Silver has it from its birth on, with the type that its values will have.

    Args:
        names: the columns that rows have.
    """
    known = {fold_name(name) for name in names}
    if silver.preset != "debezium":
        return []
    kinds = {name: encoding(text).type for name, text in silver.decode.items() if fold_name(name) not in known}
    return [(Field(name, kind), f"CAST(NULL AS {kind.sql()})") for name, kind in kinds.items()]
