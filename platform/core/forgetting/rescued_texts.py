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

    A name may have dots: `c.id` is a column of that name, or the field `id` of `c`. Each reading of it counts, as for
    columns (`paths_of`), and what should be an object may be the text of one, or a list of objects.

    Args:
        rescued: SQL of the rescued values: the text of a JSON object.
        name: as in `lake.yaml`. Its case does not matter, because a name in another case is rescued for its case.
    """
    found = _values(rescued, name)
    found = f"flatten(transform({found}, _tidegate_value -> {_spellings('_tidegate_value')}))"
    return [f"get({found}, {place})" for place in range(_SPELLINGS)]


def _spellings(text: str) -> str:
    """Returns SQL of a list of a value and, before it, of its digits if it is a whole number in another spelling."""
    number = try_cast(Simple("string"), Decimal(38, 18), text)
    digits = f"regexp_extract(CAST({number} AS STRING), '^(-?[0-9]+)[.]0+$', 1)"
    return f"filter(array_distinct(array({digits}, {text})), _tidegate_text -> _tidegate_text <> '')"


def _values(rescued: str, name: str) -> str:
    """Returns SQL of a list of the values that an object has under a name, by each reading of it.

    Each step opens the members with which the rest of the name can begin.
    """
    found = f"array(named_struct('text', {rescued}, 'rest', lower(upper({literal(name)}))))"
    for _ in name.split("."):
        found = f"flatten(transform({found}, _tidegate_at -> {_opened('_tidegate_at')}))"
    done = f"filter({found}, _tidegate_at -> _tidegate_at.rest = '')"
    return f"transform({done}, _tidegate_at -> _tidegate_at.text)"


def _opened(at: str) -> str:
    """Returns SQL of a list: of what is under a text by a part of the rest of a name, or the text itself at its end."""
    # Both sides by Spark's functions: names that are compared as `folded` compares them are equal here, too.
    key = "lower(upper(_tidegate_entry.key))"
    listed = f"from_json({at}.text, 'array<map<string,string>>')"
    listed = f"flatten(transform({listed}, _tidegate_map -> map_entries(_tidegate_map)))"
    entries = f"coalesce(map_entries(from_json({at}.text, 'map<string,string>')), {listed})"
    named = f"filter({entries}, _tidegate_entry -> {key} = {at}.rest OR startswith({at}.rest, concat({key}, '.')))"
    rest = f"if({key} = {at}.rest, '', substr({at}.rest, length({key}) + 2))"
    below = f"transform({named}, _tidegate_entry -> named_struct('text', _tidegate_entry.value, 'rest', {rest}))"
    return f"if({at}.rest = '', array({at}), coalesce({below}, array()))"
