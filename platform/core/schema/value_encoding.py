"""Encodings of values in change feeds: the type that a decoded value has, and the SQL that decodes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tidegate.platform.core.errors import BadSetting, DataError
from tidegate.platform.core.schema.casts import cast
from tidegate.platform.core.schema.column_types import (
    MAX_DIGITS,
    WHOLE,
    Decimal,
    Simple,
    Struct,
    Type,
    fold_name,
    quote_name,
    widens,
)
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.core.schema.sql_types import simple_type


class Encoding(NamedTuple):
    """How a value is written.

    Attributes:
        type: of the decoded value.
        sql: returns SQL of the decoded value, given SQL of a value and its type. It raises `NotEncoded` if a column of
            that type has no such values.
    """

    type: Type
    sql: Callable[[str, Type], str]


#: More than the digits and the sign of any decimal.
_MAX_DIGITS = 40
#: Beyond it, every number other than 0 has too many zeros, or digits that are cut off.
_MAX_SCALE = 99
#: Of a number: 16 are the most that a decimal needs, and some connectors write the sign into more.
_MAX_BYTES = 64


class NotEncoded(DataError, ValueError):
    """A column has a type that no value of the encoding has. The text is a predicate of the column."""


#: What Debezium writes for `infinity` and `-infinity` of PostgreSQL, as its JDBC driver does (documentation of the
#: connector, "temporal values"). A thousandth of it is that value in milliseconds, and no timestamp of Spark is beyond.
_INFINITE = (9_223_372_036_825_200_000, -9_223_372_036_832_400_000)


def _bytes(value: str, given: Type) -> str:
    if given == Simple("binary"):
        return value
    if given != Simple("string"):
        raise NotEncoded(f"is {given.sql()}, and an encoded value is text or binary")
    # Connectors write either alphabet of base64.
    data = f"try_to_binary(translate({value}, '-_', '+/'), 'base64')"
    problem = (
        "`decode` is for base64, and a value of the column is not base64: if the connector writes numbers as text, "
        "give the column a type with `cast` in place of `decode`"
    )
    return f"if({value} IS NULL, NULL, coalesce({data}, raise_error({literal(problem)})))"


def _decode_whole(value: str, given: Type) -> str:
    if given not in (*WHOLE, Simple("string")):
        raise NotEncoded(f"is {given.sql()}, and an encoded time is a whole number")
    return f"CAST({value} AS BIGINT)"


def _time(thousands: int, sql: str) -> Callable[[str, Type], str]:
    """Return the SQL of times that are whole numbers.

    Args:
        thousands: by what the number of microseconds is larger than `infinity` in this unit.
        sql: of a timestamp, with the number as `{}`.
    """
    latest, earliest = (bound // thousands for bound in _INFINITE)

    def decode_time(value: str, given: Type) -> str:
        number = _decode_whole(value, given)
        # Readers in most languages have years from 1 to 9999 only.
        return (
            f"CASE WHEN {number} >= {latest} THEN TIMESTAMP '9999-12-31 23:59:59.999999Z' "
            f"WHEN {number} <= {earliest} THEN TIMESTAMP '0001-01-01 00:00:00Z' ELSE {sql.format(number)} END"
        )

    return decode_time


def _decimal(type: Decimal) -> Callable[[str, Type], str]:
    def sql(value: str, given: Type) -> str:
        if isinstance(given, Struct):
            return _scaled_decimal_sql(value, given, type)
        return f"CAST(concat({_number(value, given)}, 'E-{type.scale}') AS {type.sql()})"

    return sql


def _scaled_decimal_sql(value: str, given: Struct, type: Decimal) -> str:
    """Return SQL of a decimal that comes with its scale. A cast would round one that has more digits than the type."""
    fields = {fold_name(field.name): field for field in given.fields}
    if not fields.keys() >= {"scale", "value"}:
        raise NotEncoded(f"is {given.sql()}, and an encoded number is text, binary, or a struct of `scale` and `value`")
    scale = f"{value}.{quote_name(fields['scale'].name)}"
    number = _number(f"{value}.{quote_name(fields['value'].name)}", fields["value"].type)
    # A scale is a claim of the producer, and may be the least number of its type, which has no opposite.
    near = f"CAST(least(greatest({scale}, -{_MAX_SCALE}), {_MAX_SCALE}) AS INT)"
    # No number has so many digits that it could be one of all zeros there.
    more = f"CAST(least(greatest({near} - {type.scale}, 0), {_MAX_DIGITS}) AS INT)"
    is_rounded = f"{number} <> '0' AND right({number}, {more}) <> repeat('0', {more})"
    error = (
        f"raise_error(concat('a number has ', CAST({scale} AS STRING), ' digits after its point, and `decode` "
        f"of `silver` says {type.sql()}: give it more'))"
    )
    exponent = f"if({number} = '0', '0', CAST(-{near} AS STRING))"
    decoded = f"CAST(concat({number}, 'E', {exponent}) AS {type.sql()})"
    too_large = (
        f"raise_error(concat('a number has the scale ', CAST({scale} AS STRING), ', and no decimal has so many zeros '"
        ", 'before its point: correct what writes it'))"
    )
    is_too_large = f"{number} <> '0' AND {scale} < -{MAX_DIGITS}"
    return (
        f"CASE WHEN coalesce({is_rounded}, false) THEN {error} WHEN coalesce({is_too_large}, false) THEN {too_large} "
        f"ELSE {decoded} END"
    )


def _number(value: str, given: Type) -> str:
    """Return SQL of the text of the whole number that bytes stand for, in two's complement, the highest byte first."""
    # It is added up as a decimal, because SQL has no such number of 16 bytes.
    digits = "CAST(conv(hex(substring({bytes}, {place}, 1)), 16, 10) AS DECIMAL(38, 0))"
    data = _bytes(value, given)
    first = digits.format(bytes=data, place=1)
    # A variable of the lambda hides a column of its name.
    rest = digits.format(bytes=data, place="_tidegate_place")
    number = (
        f"aggregate(if(length({data}) < 2, array(), sequence(2, length({data}))), "
        f"CAST(if({first} < 128, {first}, {first} - 256) AS DECIMAL(38, 0)), "
        # A negative sum times 256 can have a digit more than the sum after the addition.
        "(_tidegate_sum, _tidegate_place) -> CAST("
        f"if(_tidegate_sum < 0, (_tidegate_sum + 1) * 256 + ({rest} - 256), _tidegate_sum * 256 + {rest}) "
        "AS DECIMAL(38, 0)))"
    )
    problem = f"concat('a number of `decode` has ', length({data}), ' bytes, and a decimal has 16 at most')"
    return f"if(length({data}) > {_MAX_BYTES}, raise_error({problem}), CAST({number} AS STRING))"


def _time_of_day(digits: int) -> Encoding:
    """Return the encoding of a time of day as a number of parts of a second, of which a second has 10 to the `digits`.

    The text is that of a time of day in Avro. MySQL has times below zero and of more than a day.
    """

    def sql(value: str, given: Type) -> str:
        whole, second = _decode_whole(value, given), 10**digits
        number = f"abs({whole})"
        hours, minutes, seconds = (f"CAST({number} DIV {size * second}L{most} AS STRING)" for size, most in _CLOCK)
        return (
            f"concat(if({whole} < 0, '-', ''), lpad({hours}, greatest(2, length({hours})), '0'), "
            f"':', lpad({minutes}, 2, '0'), ':', lpad({seconds}, 2, '0'), "
            f"'.', lpad(CAST({number} % {second}L AS STRING), {digits}, '0'))"
        )

    return Encoding(Simple("string"), sql)


#: Seconds of an hour, a minute and a second, and what limits their number.
_CLOCK = ((3600, ""), (60, " % 60"), (1, " % 60"))
_ENCODINGS: Mapping[str, Encoding] = {
    "days": Encoding(
        Simple("date"), lambda value, given: f"date_from_unix_date(CAST({_decode_whole(value, given)} AS INT))"
    ),
    "milliseconds": Encoding(Simple("timestamp"), _time(1_000, "timestamp_millis({})")),
    "microseconds": Encoding(Simple("timestamp"), _time(1, "timestamp_micros({})")),
    "nanoseconds": Encoding(Simple("timestamp"), _time(1, "timestamp_micros(CAST(floor({} / 1000BD) AS BIGINT))")),
    "time_milliseconds": _time_of_day(3),
    "time_microseconds": _time_of_day(6),
    "time_nanoseconds": _time_of_day(9),
    "base64": Encoding(Simple("binary"), _bytes),
}


def _optional_decoding(encoding: Encoding) -> Encoding:
    """Return the encoding for columns that may have the type itself, as files of Avro and Parquet do."""

    def sql(value: str, given: Type) -> str:
        if given == encoding.type or widens(given, encoding.type):
            return cast(given, encoding.type, value)
        if isinstance(given, Decimal) and isinstance(encoding.type, Decimal):
            raise NotEncoded(f"is {given.sql()} already, and {encoding.type.sql()} does not have all of its values")
        return encoding.sql(value, given)

    return Encoding(encoding.type, sql)


def encoding(text: str) -> Encoding:
    """Return the encoding of a name in `lake.yaml`.

    Args:
        text: `days`, `milliseconds`, `microseconds` or `nanoseconds` since 1970, `time_milliseconds` and others since
            midnight, `base64`, or `decimal(p, s)`, which stands for the unscaled number as bytes, in base64 if they are
            text, or for a struct of it and its scale.

    Raises:
        BadSetting: there is no such encoding.
    """
    found = _ENCODINGS.get(text.strip().lower())
    if found is not None:
        return _optional_decoding(found)
    if text.strip().lower().startswith("decimal("):
        type = simple_type(text)
        if isinstance(type, Decimal):
            return _optional_decoding(Encoding(type, _decimal(type)))
    raise BadSetting(f"{text!r} is not an encoding: use {', '.join(_ENCODINGS)}, or decimal(<precision>, <scale>)")
