"""The persons that a row names, as SQL: in columns, on both sides of a change, and in the text of rescued values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidegate.platform.core.schema.casts import try_cast
from tidegate.platform.core.schema.column_reference import quote_path
from tidegate.platform.core.schema.column_types import Decimal, Simple, fold_name, quote_name
from tidegate.platform.core.schema.sql_literal import literal

#: The persons of a row that names nobody.
NOBODY = "CAST(array() AS array<string>)"

#: A row can spell a name, or a number, in so many ways. Each is a text of its own, so that it can be joined.
_SPELLINGS = 3

_NAMES = ("before", "after")


@dataclass(frozen=True)
class Persons:
    """Where a row of silver names its persons.

    Attributes:
        paths: columns and nested fields with an identity.
        rescued: columns that may have rescued values, each with the name of an identity in them.
    """

    paths: tuple[tuple[str, ...], ...]
    rescued: tuple[tuple[str, str], ...] = ()

    def sql(self, side: str = "") -> str:
        """Return SQL of the identities of a row: an array of texts.

        Args:
            side: of the row, such as `s.`.
        """
        texts = [f"CAST({side}{quote_path(path)} AS STRING)" for path in self.paths]
        for column, name in self.rescued:
            texts += rescued_texts(f"{side}{quote_name(column)}", name)
        return f"array_compact(CAST(array({', '.join(texts)}) AS array<string>))"


def rescued_texts(rescued: str, name: str) -> list[str]:
    """Return SQL of each value that rescued values can have of a column or nested field.

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
    """Return SQL of a list of a value and, before it, of its digits if it is a whole number in another spelling."""
    number = try_cast(Simple("string"), Decimal(38, 18), text)
    digits = f"regexp_extract(CAST({number} AS STRING), '^(-?[0-9]+)[.]0+$', 1)"
    return f"filter(array_distinct(array({digits}, {text})), _tidegate_text -> _tidegate_text <> '')"


def _values(rescued: str, name: str) -> str:
    """Return SQL of a list of the values that an object has under a name, by each reading of it.

    Each step opens the members with which the rest of the name can begin.
    """
    found = f"array(named_struct('text', {rescued}, 'rest', lower(upper({literal(name)}))))"
    for _ in name.split("."):
        found = f"flatten(transform({found}, _tidegate_at -> {_open_text('_tidegate_at')}))"
    done = f"filter({found}, _tidegate_at -> _tidegate_at.rest = '')"
    return f"transform({done}, _tidegate_at -> _tidegate_at.text)"


def _open_text(at: str) -> str:
    """Return SQL of a list: of what is under a text by a part of the rest of a name, or the text itself at its end."""
    # Both sides by Spark's functions: names that are compared as `fold_name` compares them are equal here, too.
    key = "lower(upper(_tidegate_entry.key))"
    listed = f"from_json({at}.text, 'array<map<string,string>>')"
    listed = f"flatten(transform({listed}, _tidegate_map -> map_entries(_tidegate_map)))"
    entries = f"coalesce(map_entries(from_json({at}.text, 'map<string,string>')), {listed})"
    named = f"filter({entries}, _tidegate_entry -> {key} = {at}.rest OR startswith({at}.rest, concat({key}, '.')))"
    rest = f"if({key} = {at}.rest, '', substr({at}.rest, length({key}) + 2))"
    below = f"transform({named}, _tidegate_entry -> named_struct('text', _tidegate_entry.value, 'rest', {rest}))"
    return f"if({at}.rest = '', array({at}), coalesce({below}, array()))"


def sides(subject: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the two structs of a row that may each be of another person.

    If a forgotten person has one of them, the row stays with the other one. So nothing personal may be outside of them.

    Args:
        subject: the columns and nested fields that identify a person, as in `lake.yaml`.
        columns: the further personal columns and nested fields.

    Returns:
        `before` and `after`, with what they are in. Nothing if a row is of its persons as a whole.
    """
    found = {fold_name(side): side for name in subject if (side := next(_enclosing_structs(name), None))}
    for before in [side for side in found if _last_name(side) == _NAMES[0]]:
        after = f"{before.removesuffix(_NAMES[0])}{_NAMES[1]}"
        if found.keys() == {before, after} and all(_is_in(found, name) for name in (*subject, *columns)):
            return (found[before], found[after])
    return ()


def _enclosing_structs(name: str) -> Iterator[str]:
    """Yield the structs that a nested field is in and that can be a side."""
    parts = name.split(".")
    yield from (".".join(parts[:end]) for end in range(1, len(parts)) if fold_name(parts[end - 1]) in _NAMES)


def _is_in(found: dict[str, str], name: str) -> bool:
    return any(f"{fold_name(name)}.".startswith(f"{side}.") for side in found)


def _last_name(path: str) -> str:
    return path.rsplit(".", 1)[-1]
