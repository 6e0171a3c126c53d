"""The rules of a merge: what a row of bronze is in silver, which rows are of one key, and which of them is newer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_reference import as_sql, is_expression, path_of
from tidegate.platform.core.schema.column_types import Field, Struct, Type, quoted
from tidegate.platform.core.silver.columns import KEY, ORDER


@dataclass(frozen=True)
class Part:
    """A part of the key or of the order.

    Attributes:
        sql: its value, as SQL over a row of bronze.
        path: where silver has it, quoted for SQL.
        column: the column or nested field of bronze that it is. Empty for an expression.
    """

    sql: str
    path: str
    column: tuple[str, ...] = ()


@dataclass(frozen=True)
class MergeRules:
    """How rows of bronze become rows of silver.

    Attributes:
        columns: the columns that silver takes or derives from bronze, `_key` and `_order` included.
        values: the value of each of these columns, as SQL over a row of bronze.
        keys: parts of the key.
        order: parts of the order; the first one counts first.
        deleted: condition over a row of bronze: it deletes its key.
        on_tie: what two different rows of one key with an equal order do.
        recorded: properties of the silver table. They record how `_key` and `_order` were derived.
    """

    columns: tuple[Field, ...]
    values: Mapping[str, str]
    keys: tuple[Part, ...]
    order: tuple[Part, ...]
    deleted: str
    on_tie: Literal["last", "fail"]
    recorded: Mapping[str, str]


def merge_rules(
    silver: SilverSpec, columns: Sequence[Field], type_of: Callable[[Sequence[str]], Sequence[Type]]
) -> MergeRules:
    """Returns the rules of a silver table.

    Args:
        silver: `silver` of the table in `lake.yaml`.
        columns: bronze's columns that silver takes.
        type_of: returns the types of SQL expressions over a row of bronze.
    """
    values = {field.name: quoted(field.name) for field in columns}
    kept = []
    recorded = {}
    parts = {}
    for own, texts, is_kept in ((KEY, silver.keys, silver.keeps_keys), (ORDER, silver.order, silver.keeps_order)):
        paths = [() if is_expression(text) else _path(text, columns) for text in texts]
        sqls = [as_sql(path) if path else _in_parentheses(text) for text, path in zip(texts, paths, strict=True)]
        names = [f"{own[1]}{place}" for place in range(1, len(sqls) + 1)]
        parts[own] = tuple(
            Part(sql, as_sql((own, name)) if is_kept else sql, path)
            for sql, name, path in zip(sqls, names, paths, strict=True)
        )
        if not is_kept:
            continue
        fields = zip(names, type_of(sqls), strict=True)
        kept.append(Field(own, Struct(tuple(Field(name, kind) for name, kind in fields))))
        values[own] = f"struct({', '.join(f'{sql} AS {name}' for sql, name in zip(sqls, names, strict=True))})"
        recorded[f"tidegate.silver{own}"] = "; ".join(" ".join(text.split()) for text in texts)
    return MergeRules(
        columns=(*columns, *kept),
        values=values,
        keys=parts[KEY],
        order=parts[ORDER],
        deleted=f"coalesce({_in_parentheses(silver.delete_when)}, false)" if silver.delete_when else "false",
        on_tie=silver.on_tie,
        recorded=recorded,
    )


def _path(text: str, columns: Sequence[Field]) -> tuple[str, ...]:
    path = path_of(text, columns)
    if path is None:
        raise AssertionError(f"{text} was not looked for in bronze")
    return path


def _in_parentheses(text: str) -> str:
    # On lines of its own: the text may end in a comment.
    return f"(\n{text}\n)"
