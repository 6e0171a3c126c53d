"""SQL of casts. The text of a number that becomes a decimal is bounded first.

Spark makes a `BigDecimal` of the text and gives it the scale of the type. For the text `1E-300000000`, of twelve
characters, this takes minutes and gigabytes. So does the mere reading of a text of some million digits.
"""

from __future__ import annotations

from tidegate.platform.core.schema.column_types import Array, Decimal, Field, Map, Simple, Struct, Type, quote_name
from tidegate.platform.core.schema.digits import MAX_LENGTH
from tidegate.platform.core.schema.sql_literal import literal

_VARIANT = Simple("variant")
#: An exponent of five digits or more. A text has too few digits to make up for one of four.
_LARGE_EXPONENT = "([eE][+-]?)0*+[1-9][0-9]{4,}"
_LARGEST_EXPONENT = "9999"
#: Java takes digits of every script for digits.
_FOREIGN_EXPONENT = r"[eE][+-]?[0-9]*+[^\x00-\x7F]"
#: Characters of a refused text that an error shows.
_SHOWN = 40


def decimal_text(text: str) -> str:
    """Return SQL of a text that a cast to a decimal reads in little time.

    The decimal is the same: with an exponent below -9999 a number is rounded to 0 as it was, and with one above 9999 it
    is out of the range of every decimal. A text of more than `MAX_LENGTH` characters, or with an exponent in other
    digits than 0 to 9, becomes one that is not a number: it fails a `CAST`, and is NULL by `try_cast`.

    Args:
        text: SQL of a text. It is repeated.
    """
    is_refused = f"length({text}) > {MAX_LENGTH} OR {text} RLIKE {literal(_FOREIGN_EXPONENT)}"
    bounded = f"if({is_refused}, concat(left({text}, {_SHOWN}), '…'), {text})"
    return f"regexp_replace({bounded}, {literal(_LARGE_EXPONENT)}, {literal(f'$1{_LARGEST_EXPONENT}')})"


def cast(given: Type, wanted: Type, value: str) -> str:
    """Return SQL of a cast.

    Args:
        given: type of the value.
        wanted: type of the result.
        value: SQL of the value.
    """
    return f"CAST({_bound_decimal_texts(given, wanted, value, 'CAST')} AS {wanted.sql()})"


def try_cast(given: Type, wanted: Type, value: str) -> str:
    """Return SQL of a cast that gives NULL for a value that cannot be cast; see `cast`."""
    return f"try_cast({_bound_decimal_texts(given, wanted, value, 'try_cast')} AS {wanted.sql()})"


def _bound_decimal_texts(given: Type, wanted: Type, value: str, name: str, level: int = 0) -> str:
    """Return SQL of a value that a cast makes the same of, and in which each text that becomes a decimal is bounded.

    Args:
        given: type of the value.
        wanted: type that a cast gives it.
        value: SQL of the value.
        name: of the cast.
        level: number of arrays and maps around the value.
    """
    if not _has_decimals(wanted):
        return value
    # A variable of a lambda hides a column of its name.
    item, key = f"_tidegate_item{level}", f"_tidegate_key{level}"
    match given, wanted:
        case Simple("variant"), Decimal():
            text, kind = decimal_text(f"CAST({value} AS STRING)"), wanted.sql()
            return f"if(schema_of_variant({value}) = 'STRING', {name}({text} AS {kind}), {name}({value} AS {kind}))"
        case Simple("variant"), _:
            opened = _with_variants(wanted)
            return _bound_decimal_texts(opened, wanted, f"{name}({value} AS {opened.sql()})", name, level)
        case Array(element), Array(wanted_element):
            inner = _bound_decimal_texts(element, wanted_element, item, name, level + 1)
            return value if inner == item else f"transform({value}, {item} -> {inner})"
        case Map(key_type, value_type), Map(wanted_key, wanted_value):
            inner = _bound_decimal_texts(value_type, wanted_value, item, name, level + 1)
            if inner != item:
                value = f"transform_values({value}, ({key}, {item}) -> {inner})"
            inner = _bound_decimal_texts(key_type, wanted_key, key, name, level + 1)
            return value if inner == key else f"transform_keys({value}, ({key}, {item}) -> {inner})"
        case Struct(fields), Struct(wanted_fields) if len(fields) == len(wanted_fields):
            # Spark casts fields by their place.
            own = [f"{value}.{quote_name(field.name)}" for field in fields]
            pairs = zip(fields, wanted_fields, own, strict=True)
            parts = [_bound_decimal_texts(field.type, to.type, part, name, level) for field, to, part in pairs]
            if parts == own:
                return value
            named = ", ".join(f"{part} AS {quote_name(field.name)}" for part, field in zip(parts, fields, strict=True))
            return f"if({value} IS NULL, NULL, struct({named}))"
    return decimal_text(value) if becomes_decimal(given, wanted) else value


def becomes_decimal(given: Type, wanted: Type) -> bool:
    """Return whether a cast makes a decimal of a text."""
    is_text = isinstance(given, Simple) and given.name.startswith(("string", "char", "varchar"))
    return is_text and isinstance(wanted, Decimal)


def _has_decimals(kind: Type) -> bool:
    match kind:
        case Decimal():
            return True
        case Array(element):
            return _has_decimals(element)
        case Map(key, value):
            return _has_decimals(key) or _has_decimals(value)
        case Struct(fields):
            return any(_has_decimals(field.type) for field in fields)
    return False


def _with_variants(kind: Type) -> Type:
    """Return a type with VARIANTs in place of decimals."""
    match kind:
        case Decimal():
            return _VARIANT
        case Array(element):
            return Array(_with_variants(element))
        case Map(key, value):
            return Map(key, _with_variants(value))
        case Struct(fields):
            return Struct(tuple(Field(field.name, _with_variants(field.type)) for field in fields))
    return kind
