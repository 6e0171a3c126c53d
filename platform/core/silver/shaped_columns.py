"""Columns of silver that are renamed or derived on the way from bronze, and names that no column can have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import CHANGE_COLUMNS, HISTORY_COLUMNS, taken_names
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.schema.column_types import Field, Type, fold_name, quote_name
from tidegate.platform.core.schema.names import OWN_NAME_PREFIX, suggest_names
from tidegate.platform.core.silver.expression_types import UnsuitableColumns

#: A column, and SQL of its value over a row of bronze.
Valued = tuple[Field, str]


class WrongShape(DataError, ValueError):
    """A column cannot be renamed. The text is a predicate of bronze."""


def shape_columns(
    silver: SilverSpec, columns: Sequence[Valued], types_of: Callable[[Sequence[str]], Sequence[Type]]
) -> list[Valued]:
    """Return the columns with their new names, and with derived columns in their place or at the end.

    Args:
        columns: the columns as bronze or `row` has them.
        types_of: returns the types of expressions over a row of bronze.

    Raises:
        WrongShape: bronze lacks a column of `rename`, or has another one of the new name.
    """
    names = [field.name for field, _ in columns]
    new_names = {fold_name(old): new for old, new in silver.rename.items()}
    for old, new in silver.rename.items():
        if fold_name(old) not in map(fold_name, names):
            raise WrongShape(f"has no column {old!r}, which `rename` of `silver` names; {suggest_names(old, names)}")
        if fold_name(new) in map(fold_name, names) and fold_name(new) not in new_names:
            raise WrongShape(
                f"has a column {new!r}, which `rename` of `silver` gives {old!r} as its new name: choose another name, "
                f"or rename {new!r}, too"
            )
    found = [(Field(new_names.get(fold_name(field.name), field.name), field.type), sql) for field, sql in columns]
    # On lines of its own: the text may end in a comment.
    expressions = [f"(\n{text}\n)" for text in silver.derive.values()]
    kinds = types_of(expressions) if expressions else ()
    for name, sql, kind in zip(silver.derive, expressions, kinds, strict=True):
        place = next(
            (place for place, (field, _) in enumerate(found) if fold_name(field.name) == fold_name(name)), None
        )
        if place is None:
            found.append((Field(name, kind), sql))
        else:
            found[place] = (Field(found[place][0].name, kind), sql)
    return found


def check_names(fields: Sequence[Field], silver: SilverSpec) -> None:
    """Refuse columns of silver that have the name of one of Tidegate's own.

    Raises:
        UnsuitableColumns: a column has such a name.
    """
    for field in fields:
        if (name := fold_name(field.name)) in taken_names(silver):
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
        if fold_name(field.name).startswith(OWN_NAME_PREFIX):
            raise UnsuitableColumns(
                f"has a column {field.name!r}, and names that begin with {OWN_NAME_PREFIX} are those of a merge: "
                "drop it. "
                "ALTER TABLE … SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', "
                f"'delta.minWriterVersion' = '5'), then ALTER TABLE … DROP COLUMN {quote_name(field.name)}. New rows "
                "with it are quarantined"
            )
