"""Encodings of values in change feeds: the type that a decoded value has, and the SQL that decodes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tidegate.platform.core.schema.column_types import Decimal, Simple, Type
from tidegate.platform.core.schema.sql_types import simple_type


class Encoding(NamedTuple):
    """How a value is written.

    Attributes:
        type: of the decoded value.
        sql: returns SQL of the decoded value, given SQL of a value and its type.
    """

    type: Type
    sql: Callable[[str, Type], str]


def _bytes(value: str, given: Type) -> str:
    return value if given == Simple("binary") else f"unbase64({value})"


def _decimal(type: Decimal) -> Callable[[str, Type], str]:
    def sql(value: str, given: Type) -> str:
        # The bytes are a whole number in two's complement, the most significant byte first. It is added up as a
        # decimal, because SQL has no such number of 16 bytes.
        digits = "CAST(conv(hex(substring({bytes}, {place}, 1)), 16, 10) AS DECIMAL(38, 0))"
        data = _bytes(value, given)
        first = digits.format(bytes=data, place=1)
        # A variable of the lambda hides a column of its name.
        rest = digits.format(bytes=data, place="_tidegate_place")
        number = (
            f"aggregate(if(length({data}) < 2, array(), sequence(2, length({data}))), "
            f"CAST(if({first} < 128, {first}, {first} - 256) AS DECIMAL(38, 0)), "
            f"(_tidegate_sum, _tidegate_place) -> CAST(_tidegate_sum * 256 + {rest} AS DECIMAL(38, 0)))"
        )
        return f"CAST(concat(CAST({number} AS STRING), 'E-{type.scale}') AS {type.sql()})"

    return sql


_ENCODINGS: Mapping[str, Encoding] = {
    "days": Encoding(Simple("date"), lambda value, _: f"date_from_unix_date(CAST({value} AS INT))"),
    "milliseconds": Encoding(Simple("timestamp"), lambda value, _: f"timestamp_millis(CAST({value} AS BIGINT))"),
    "microseconds": Encoding(Simple("timestamp"), lambda value, _: f"timestamp_micros(CAST({value} AS BIGINT))"),
    "nanoseconds": Encoding(
        Simple("timestamp"),
        lambda value, _: f"timestamp_micros(CAST(floor(CAST({value} AS BIGINT) / 1000BD) AS BIGINT))",
    ),
    "base64": Encoding(Simple("binary"), _bytes),
}


def _unless_decoded(encoding: Encoding) -> Encoding:
    """Returns the encoding for columns that may have the type itself, as files of Avro and Parquet do."""

    def sql(value: str, given: Type) -> str:
        is_decoded = given == encoding.type or (isinstance(given, Decimal) and isinstance(encoding.type, Decimal))
        return f"CAST({value} AS {encoding.type.sql()})" if is_decoded else encoding.sql(value, given)

    return Encoding(encoding.type, sql)


def encoding(text: str) -> Encoding:
    """Returns the encoding of a name in `lake.yaml`.

    Args:
        text: `days`, `milliseconds`, `microseconds` or `nanoseconds` since 1970, `base64`, or `decimal(p, s)`, which
            stands for the unscaled number as bytes, in base64 if they are text.

    Raises:
        ValueError: there is no such encoding.
    """
    found = _ENCODINGS.get(text.strip().lower())
    if found is not None:
        return _unless_decoded(found)
    if text.strip().lower().startswith("decimal("):
        type = simple_type(text)
        if isinstance(type, Decimal):
            return _unless_decoded(Encoding(type, _decimal(type)))
    raise ValueError(f"{text!r} is no encoding: use {', '.join(_ENCODINGS)}, or decimal(<precision>, <scale>)")
