"""Values of Spark as JSON has them."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import MINYEAR, UTC, date, datetime, timedelta
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    VariantType,
)

from tidegate.platform.core.row_json import row_json
from tidegate.platform.core.schema.digits import exact

#: Types whose values are shown as JSON also to people.
NESTED = (StructType, ArrayType, MapType)


def json_value(value: Any, type: DataType) -> Any:
    """Returns a value that `json` writes without a loss.

    DECIMALs, and numbers of a VARIANT that a double cannot hold, become strings. TIMESTAMPs are ISO 8601 in UTC, and
    BINARY is base64. Values of types without a form in JSON are strings.

    Args:
        value: as PySpark returns it. A VARIANT may also be its JSON, and a time may be Spark's text.
        type: its type.
    """
    if value is None or isinstance(value, bool):
        return value
    for kind, converted in _CONVERTED.items():
        if isinstance(type, kind):
            return converted(value, type)
    return str(value)


def json_text(value: Any, type: DataType) -> str:
    """Returns a value as JSON in one line."""
    return json.dumps(json_value(value, type), ensure_ascii=False)


def _struct(value: Any, type: Any) -> dict[str, Any]:
    return {field.name: json_value(part, field.dataType) for part, field in zip(value, type.fields, strict=True)}


def _map(value: Mapping[Any, Any], type: Any) -> dict[str, Any]:
    named = ((json_value(key, type.keyType), part) for key, part in value.items())
    return {
        key if isinstance(key, str) else json.dumps(key, ensure_ascii=False): json_value(part, type.valueType)
        for key, part in named
    }


def _double(value: float, _: DataType) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _variant(value: Any, _: DataType) -> Any:
    return row_json(str(value), parse_float=_number)


def _number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) and exact(repr(number)) == exact(text) else text


def to_utc(value: datetime | str) -> datetime | str:
    """Returns a TIMESTAMP in UTC, without the zone. Text of Spark is in UTC already."""
    if isinstance(value, str):
        return value
    # Python looks for the offset of the day before, too, and has none before year 1.
    shift = timedelta(days=2 if value.year == MINYEAR else 0)
    return (value + shift).astimezone(UTC).replace(tzinfo=None) - shift


def _iso(value: date | str) -> str:
    return value.replace(" ", "T") if isinstance(value, str) else value.isoformat()


#: PySpark returns a TIMESTAMP as a time without a zone, in the time zone of this process.
_CONVERTED: Mapping[type[DataType], Callable[[Any, Any], Any]] = {
    StructType: _struct,
    ArrayType: lambda value, type: [json_value(part, type.elementType) for part in value],
    MapType: _map,
    StringType: lambda value, _: value,
    IntegralType: lambda value, _: value,
    DecimalType: lambda value, _: format(value, "f"),
    FractionalType: _double,
    TimestampType: lambda value, _: f"{_iso(to_utc(value))}Z",
    TimestampNTZType: lambda value, _: _iso(value),
    DateType: lambda value, _: _iso(value),
    TimeType: lambda value, _: value.isoformat(),
    BinaryType: lambda value, _: base64.b64encode(value).decode("ascii"),
    VariantType: _variant,
}
