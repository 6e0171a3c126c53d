"""What files state of the columns of their rows: how values are encoded, and descriptions.

Kafka Connect gives each value a schema. JSON has it next to the row (`schema` and `payload`). Avro files have it in
their own schema, and Parquet files that were written from rows of Avro keep this in their footers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.schema.column_types import MAX_DIGITS
from tidegate.platform.core.schema.value_encoding import encoding

#: Encodings by the names of Connect's types, and of Debezium's.
_TIMES: Mapping[str, str] = {
    "io.debezium.time.Date": "days",
    "org.apache.kafka.connect.data.Date": "days",
    "io.debezium.time.Timestamp": "milliseconds",
    "org.apache.kafka.connect.data.Timestamp": "milliseconds",
    "io.debezium.time.MicroTimestamp": "microseconds",
    "io.debezium.time.NanoTimestamp": "nanoseconds",
    "io.debezium.time.Time": "time_milliseconds",
    "org.apache.kafka.connect.data.Time": "time_milliseconds",
    "io.debezium.time.MicroTime": "time_microseconds",
    "io.debezium.time.NanoTime": "time_nanoseconds",
}
#: A decimal that comes with its scale, and the type that is proposed for it. No file states its digits.
_OF_ANY_SCALE, _PROPOSED = "io.debezium.data.VariableScaleDecimal", "decimal(38, 18)"
_DECIMAL = "org.apache.kafka.connect.data.Decimal"


@dataclass(frozen=True)
class StatedColumn:
    """What files state of a column.

    Attributes:
        type: name of the type of its values; empty if there is none.
        encoding: of its values, as `decode` of `lake.yaml` names it; None if there is no name for it.
        text: its description; None if there is none.
    """

    type: str = ""
    encoding: str | None = None
    text: str | None = None


def connect_type(name: str, kind: str, parameters: Any) -> tuple[str, str | None]:
    """Return the name of a type of Kafka Connect, for people, and the encoding of its values.

    Args:
        name: of the type, such as `io.debezium.time.Date`; empty if it has none.
        kind: the type beneath, such as `int32` or `bytes`.
        parameters: of the type, by name.
    """
    if name == _DECIMAL:
        given = parameters if isinstance(parameters, Mapping) else {}
        text = f"decimal({given.get('connect.decimal.precision', MAX_DIGITS)}, {given.get('scale', 0)})"
        try:
            encoding(text)
        except ValueError:
            return f"{name}, {text}", None
        return f"{name}, {text}", text
    if name == _OF_ANY_SCALE:
        return f"{name}, whose numbers have any digits: {_PROPOSED} is a guess", _PROPOSED
    if name in _TIMES:
        return name, _TIMES[name]
    return (name or kind, "base64") if kind == "bytes" else (name, None)


def parse_stated_columns(schema: Any) -> dict[str, StatedColumn]:
    """Return what the `schema` next to a row of JSON states of the columns of the row, by name.

    Args:
        schema: a schema of Kafka Connect, as its converter of JSON writes it. Of anything else nothing is returned.
    """
    return {
        field["field"]: StatedColumn(
            *connect_type(str(field.get("name") or ""), str(field.get("type")), field.get("parameters")),
            text=text_of(field.get("doc")),
        )
        for field in row_of_change(schema, "field", _fields)
    }


def row_of_change(
    schema: Any, name: str, fields_of: Callable[[Any], list[Mapping[str, Any]]]
) -> list[Mapping[str, Any]]:
    """Return the fields of the row of a schema: of an envelope of Debezium those of its row, else all.

    Args:
        schema: of a value.
        name: what names a field in it.
        fields_of: returns the fields of a schema; none if it has none.
    """
    fields = fields_of(schema)
    by_name = {field[name]: field for field in fields}
    if "op" in by_name:
        for side in ("after", "before"):
            if side in by_name and (found := fields_of(by_name[side])):
                return found
    return fields


def _fields(schema: Any) -> list[Mapping[str, Any]]:
    found: Iterable[Any] = schema.get("fields") or () if isinstance(schema, Mapping) else ()
    if not isinstance(found, list | tuple):
        return []
    return [field for field in found if isinstance(field, Mapping) and isinstance(field.get("field"), str)]


def text_of(text: Any) -> str | None:
    """Return a description as one line; None if it is none."""
    return " ".join(text.split()) or None if isinstance(text, str) else None
