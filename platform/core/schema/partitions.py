"""Partition values: what the `k=v` folders of a key say, as the table's columns hold it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime

from tidegate.platform.core.schema.column_types import Decimal, Field, Type
from tidegate.platform.core.schema.misfit import Misfit

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    rf"{_DATE.pattern}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?(Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?"
)


def check_partition(values: Mapping[str, str | None], columns: Sequence[Field]) -> dict[str, str | None]:
    """The partition values of a path, under the table's spelling of the columns.

    Args:
        values: hive values of the path.
        columns: the table's partition columns.

    Raises:
        Misfit: other columns than the table's, or a value that its type cannot hold.
    """
    found = {name.lower(): value for name, value in values.items()}
    if set(found) != {column.name.lower() for column in columns}:
        named = sorted(column.name for column in columns)
        raise Misfit(f"its path has the partition columns {sorted(values) or 'none'}, the table has {named or 'none'}")
    for column in columns:
        value = found[column.name.lower()]
        if value is not None and not _holds(column.type, value):
            raise Misfit(f"partition value {column.name}={value} is not a {column.type.sql()}")
    return {column.name: found[column.name.lower()] for column in columns}


def _holds(kind: Type, value: str) -> bool:
    if isinstance(kind, Decimal):
        number = re.fullmatch(r"[+-]?0*([0-9]*)(?:\.([0-9]*?)0*)?", value)
        return (
            number is not None
            and bool(value.strip("+-."))
            and len(number[1]) <= kind.precision - kind.scale
            and len(number[2] or "") <= kind.scale
        )
    try:
        match kind.sql():
            case "tinyint" | "smallint" | "int" | "bigint" as name:
                bits = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}[name]
                return bool(re.fullmatch(r"[+-]?[0-9]+", value)) and -(2**bits) <= int(value) < 2**bits
            case "float" | "double":
                return bool(re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", value))
            case "boolean":
                return value.lower() in ("true", "false")
            case "date":
                # Python reads more spellings than Spark does: one that Spark does not read becomes null.
                return bool(_DATE.fullmatch(value)) and date.fromisoformat(value) is not None
            case "timestamp" | "timestamp_ntz":
                return bool(_TIMESTAMP.fullmatch(value)) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False
    return True
