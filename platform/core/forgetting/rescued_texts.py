"""The values of a field in the text of rescued values."""

from __future__ import annotations

from tidegate.platform.core.schema.casts import try_cast
from tidegate.platform.core.schema.column_types import Decimal, Simple
from tidegate.platform.core.schema.sql_literal import literal

#: A row can spell a name, or a number, in so many ways. Each is a text of its own, so that it can be joined.
_SPELLINGS = 3


def rescued_texts(rescued: str, name: str) -> list[str]:
    """Returns SQL of each value that rescued values can have of a column or nested field.

    Numbers keep all digits. A whole number that is spelled otherwise, as 42.0, is there as 42, too.

    A name may have dots: `c.id` is a column of that name, or the field `id` of `c`.

    Args:
        rescued: SQL of the rescued values: the text of a JSON object.
        name: as in `lake.yaml`. Its case does not matter, because a name in another case is rescued for its case.
    """
    found = _values(rescued, name)
    if "." in name:
        nested = f"array({rescued})"
        for part in name.split("."):
            nested = f"flatten(transform({nested}, _tidegate_text -> {_values('_tidegate_text', part)}))"
        found = f"concat({found}, {nested})"
    found = f"flatten(transform({found}, _tidegate_value -> {_spellings('_tidegate_value')}))"
    return [f"get({found}, {place})" for place in range(_SPELLINGS)]


def _spellings(text: str) -> str:
    """Returns SQL of a list of a value and, before it, of its digits if it is a whole number in another spelling."""
    number = try_cast(Simple("string"), Decimal(38, 18), text)
    digits = f"regexp_extract(CAST({number} AS STRING), '^(-?[0-9]+)[.]0+$', 1)"
    return f"filter(array_distinct(array({digits}, {text})), _tidegate_text -> _tidegate_text <> '')"


def _values(text: str, name: str) -> str:
    """Returns SQL of a list of the values that an object has under a name."""
    entries = f"map_entries(from_json({text}, 'map<string,string>'))"
    # Both sides by Spark's functions: names that are compared as `folded` compares them are equal here, too.
    named = f"filter({entries}, _tidegate_entry -> lower(upper(_tidegate_entry.key)) = lower(upper({literal(name)})))"
    return f"coalesce(transform({named}, _tidegate_entry -> _tidegate_entry.value), array())"
