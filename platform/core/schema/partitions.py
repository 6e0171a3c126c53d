"""Partition values: the values of `k=v` folders of a key, for the table's partition columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime

from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.schema.column_types import Decimal, Field, Type, fold_name
from tidegate.platform.core.schema.digits import keeps

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Java's zones end 18 hours from Greenwich.
_TIMESTAMP = re.compile(
    rf"{_DATE.pattern}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?"
    r"(?P<zone>Z|[+-](0[0-9]|1[0-7]):[0-5][0-9]|[+-]18:00)?)?"
)
_FLOAT = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,9})?")


def check_partition(values: Mapping[str, str | None], columns: Sequence[Field]) -> dict[str, str | None]:
    """Return the partition values of a path, under the table's spelling of the columns.

    Args:
        values: Hive values of the path.
        columns: the table's partition columns.

    Raises:
        Misfit: other columns than the table's, or a value that its type cannot hold.
    """
    found = {fold_name(name): value for name, value in values.items()}
    if set(found) != {fold_name(column.name) for column in columns}:
        named = sorted(column.name for column in columns)
        raise Misfit(f"its path has the partition columns {sorted(values) or 'none'}, the table has {named or 'none'}")
    for column in columns:
        value = found[fold_name(column.name)]
        if value is not None and not _holds(column.type, value):
            raise Misfit(f"partition value {column.name}={value} is not a {column.type.sql()}")
    return {column.name: found[fold_name(column.name)] for column in columns}


def _holds(kind: Type, value: str) -> bool:
    if isinstance(kind, Decimal):
        number = re.fullmatch(r"[+-]?0*+([0-9]*+)(?:\.([0-9]*+))?", value)
        return (
            number is not None
            and bool(value.strip("+-."))
            and len(number[1]) <= kind.precision - kind.scale
            and len((number[2] or "").rstrip("0")) <= kind.scale
        )
    try:
        match kind.sql():
            case "tinyint" | "smallint" | "int" | "bigint" as name:
                bits = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}[name]
                return bool(re.fullmatch(r"[+-]?[0-9]+", value)) and -(2**bits) <= int(value) < 2**bits
            case "float" | "double" as name:
                return bool(_FLOAT.fullmatch(value)) and keeps(value, name)
            case "boolean":
                return value.lower() in ("true", "false")
            case "date":
                # Python reads more spellings than Spark does. Spark reads such a spelling as null.
                return bool(_DATE.fullmatch(value)) and date.fromisoformat(value) is not None
            case "timestamp" | "timestamp_ntz" as name:
                found = _TIMESTAMP.fullmatch(value)
                # Spark would drop the zone if the type has none.
                fits = found is not None and not (found["zone"] and name == "timestamp_ntz")
                return fits and datetime.fromisoformat(value) is not None
    except (ValueError, OverflowError):
        return False
    return kind.sql() in ("string", "binary")
