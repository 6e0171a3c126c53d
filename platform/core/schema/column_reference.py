"""References to columns in `lake.yaml`: the name of a column, the path of a nested field, or an expression of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tidegate.platform.core.schema.column_types import Field, Struct, Type, fold_name, quote_name

#: Characters that the name of a column or the path of a field does not have.
_EXPRESSION_CHARACTER = re.compile(r"""[()\[\]{}'"`+*/|<>=!:,?%]""")


def is_expression(text: str) -> bool:
    """Return whether a reference is an expression: it has a parenthesis, a quotation mark or an operator.

    An expression of names and spaces alone, or with a minus sign, is one only within parentheses: `a-b` may be the name
    of a column.
    """
    return _EXPRESSION_CHARACTER.search(text) is not None


def root_of(text: str, names: Sequence[str] = ()) -> str:
    """Return the name of the column that a path begins with.

    Args:
        text: a reference that is not an expression.
        names: the columns. Without them, the first part of a path is taken as the column.
    """
    known = {fold_name(name) for name in names}
    return text if fold_name(text) in known else text.split(".")[0]


def path_of(text: str, fields: Sequence[Field]) -> tuple[str, ...] | None:
    """Return the path of the column or nested field that a reference names, as the table spells it.

    Case does not count. A column whose own name has dots comes before a nested field.

    Args:
        text: a reference that is not an expression.
        fields: the columns.

    Returns:
        None if there is no such column or field.
    """
    return next(paths_of(text, fields), None)


def paths_of(text: str, fields: Sequence[Field]) -> Iterator[tuple[str, ...]]:
    """Yield every path that a reference may name, that of `path_of` first.

    `user.id` is a column of that name, and the field `id` of `user`. A table may have both, and the one of its first
    rows is not the one of `path_of` any more once the other one joins. `member_readings` gives the same of a JSON
    object.

    Args:
        text: a reference that is not an expression.
        fields: the columns.
    """
    yield from ((field.name,) for field in fields if fold_name(field.name) == fold_name(text))
    for field in fields:
        start = f"{fold_name(field.name)}."
        if fold_name(text).startswith(start) and isinstance(field.type, Struct):
            yield from ((field.name, *below) for below in paths_of(text[len(start) :], field.type.fields))


def spell_path(path: Sequence[str], fields: Sequence[Field]) -> tuple[str, ...] | None:
    """Return a path as the table spells it. None if the table does not have it."""
    name, *below = path
    field = next((field for field in fields if fold_name(field.name) == fold_name(name)), None)
    if field is None or not below:
        return None if field is None else (field.name,)
    rest = spell_path(below, field.type.fields) if isinstance(field.type, Struct) else None
    return None if rest is None else (field.name, *rest)


def type_at(path: Sequence[str], fields: Sequence[Field]) -> Type:
    """Return the type of a column or nested field.

    Args:
        path: as `path_of` returns it.
        fields: the columns.
    """
    field = next(field for field in fields if field.name == path[0])
    if len(path) == 1:
        return field.type
    if not isinstance(field.type, Struct):
        raise AssertionError(f"{field.name} has no fields")
    return type_at(path[1:], field.type.fields)


def quote_path(path: Sequence[str]) -> str:
    """Return a path quoted for SQL."""
    return ".".join(quote_name(part) for part in path)
