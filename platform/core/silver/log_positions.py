"""Where a change is in the log of its database, by the fields of `source` that each connector of Debezium writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.platform.core.schema.casts import cast
from tidegate.platform.core.schema.column_reference import is_expression, path_of, quote_path, type_at
from tidegate.platform.core.schema.column_types import MAX_DIGITS, Decimal, Field, Simple, folded

#: SQL types of fields that rows of a snapshot have no value of, and Db2 never has of the last one. A field without a
#: value is no column of JSON files, so that bronze has it from the first change on.
_OPTIONAL: Mapping[str, str] = {"change_lsn": "STRING", "event_serial_no": "BIGINT"}
#: How an order names a number that is a text. Silver records it so.
_NUMBER_OF, _AS_NUMBER = "CAST(", f" AS DECIMAL({MAX_DIGITS}, 0))"
#: The parts of each order. Times are no order: they are equal within a transaction.
_POSITIONS: Sequence[Sequence[str]] = (
    ("{}lsn",),
    ("{}file", "{}pos", "{}row"),
    # SQL Server and Db2.
    ("{}commit_lsn", "{}change_lsn", "{}event_serial_no"),
    # Oracle's numbers are texts.
    (f"{_NUMBER_OF}{{}}scn{_AS_NUMBER}",),
)
#: Informix writes this field, too. The texts of its positions do not compare as the positions do.
_NO_ORDER = "begin_lsn"


def log_position(start: str, names: Sequence[str]) -> tuple[str, ...]:
    """Returns the order by the position in the database's log; empty if the rows do not have it.

    Args:
        start: what the names of the fields begin with in SQL, such as `source.` or, of flattened rows, `__source_`.
        names: the fields of `source`, or all names of the metadata of flattened rows.
    """
    prefix = start.rpartition(".")[2]
    known = {folded(name) for name in names}
    if f"{prefix}{_NO_ORDER}" in known:
        return ()
    for parts in _POSITIONS:
        needed = {part.removeprefix(_NUMBER_OF).split(" ")[0].format("") for part in parts} - _OPTIONAL.keys()
        if known.issuperset(f"{prefix}{name}" for name in needed):
            return tuple(part.format(start) for part in parts)
    return ()


def is_optional(part: str) -> bool:
    """Returns whether a part of an order is a field that some rows have no value of."""
    return _field(part) in _OPTIONAL


def comparable_position(part: str, columns: Sequence[Field]) -> str:
    """Returns a part of an order as SQL that compares as the positions do.

    After `mysql-bin.999999` comes `mysql-bin.1000000`, which is less as a text. A tilde for each digit after the sixth
    makes it greater, and leaves every other name as silver has stored it. A number
    of that name compares as it is. A number that is a text is cast, within bounds. An optional field that bronze does
    not have yet is NULL.

    Args:
        part: a column, a nested field or an expression.
        columns: bronze's columns.
    """
    if is_optional(part) and path_of(part, columns) is None:
        return f"CAST(NULL AS {_OPTIONAL[_field(part)]})"
    if part.startswith(_NUMBER_OF) and part.endswith(_AS_NUMBER):
        number = path_of(part.removeprefix(_NUMBER_OF).removesuffix(_AS_NUMBER), columns)
        return part if number is None else cast(type_at(number, columns), Decimal(MAX_DIGITS, 0), quote_path(number))
    path = path_of(part, columns) if _field(part) == "file" else None
    if path is None or type_at(path, columns) != Simple("string"):
        return part
    name = quote_path(path)
    # Begun at each digit of a name, the search would take the square of its length.
    digits = f"regexp_extract({name}, '(?<![0-9])([0-9]++)$', 1)"
    start = f"substring({name}, 1, length({name}) - length({digits}))"
    return f"concat({start}, repeat('~', length({digits}) - 6), {digits})"


def _field(part: str) -> str:
    """Returns the field of `source` that a part of an order is; empty for an expression."""
    if is_expression(part):
        return ""
    return folded(part).rsplit(".", 1)[-1].removeprefix("__source_").removeprefix("__")
