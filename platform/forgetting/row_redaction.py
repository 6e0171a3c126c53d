"""What stays of the JSON text of a row when persons are forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from tidegate.platform.core.foreign_json import foreign_json
from tidegate.platform.core.forgetting.json_references import Reading, member_readings
from tidegate.platform.core.forgetting.mentions import blanked_members, mentions, plain_number
from tidegate.platform.core.schema.column_reference import spell_path, type_at
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type
from tidegate.platform.lake.suppression import Suppression

_TEXT = Simple("string")


class KeptRow:
    """Judges the JSON texts of rows of a table, as a load does: whose they are, and what stays of them.

    Args:
        suppression: the subjects, with the columns of the table.
        fields: the columns of the table. Empty if it has none yet.
    """

    def __init__(self, suppression: Suppression, fields: Sequence[Field]) -> None:
        self._suppression, self._fields = suppression, fields
        # A load leaves rows out as a whole while the table does not have both sides.
        has_sides = not fields or bool(suppression.sides and suppression.side_paths(fields))
        self._sides = suppression.sides if has_sides else ()

    def rest(self, text: str) -> str | None:
        """Return what stays of a row: as a load, a side of another person. None if the row leaves.

        A row is of the subjects in its fields. A text that cannot be read is if it mentions one, and so is a row of
        which a subject's column would not take the value: the load has it as a bad row, or rescues the value.
        """
        content = parsed_object(text)
        if content is None:
            return None if mentions(text, self._suppression.holds) else text
        found = [
            reading
            for name in self._suppression.subject
            for reading in member_readings(content, name)
            if self._may_name(reading)
        ]
        proper = all(map(self._is_proper, found))
        known = [reading for reading in found if self._is_known(reading)]
        if not known:
            return text if proper or not mentions(text, self._suppression.holds) else None
        if not proper:
            return None
        return self._sides_of_others(text, content, found, known)

    def _sides_of_others(
        self, text: str, content: dict[str, Any], found: Sequence[Reading], known: Sequence[Reading]
    ) -> str | None:
        """Return the text without the sides of a change that name a suppressed subject, or nobody."""
        places = {
            side: [reading.path for reading in member_readings(content, side) if reading.is_whole]
            for side in self._sides
        }
        everywhere = [*chain.from_iterable(places.values())]
        lost = [own for own in places.values() if any(_are_within(known, own)) or not any(_are_within(found, own))]
        if not all(_are_within(known, everywhere)) or len(lost) == len(places):
            return None
        return blanked_members(text, [*chain.from_iterable(lost)])

    def _may_name(self, reading: Reading) -> bool:
        """Return whether a value can name a subject. What is not a struct by its column has no field that does."""
        kind = self._kind(reading)
        return reading.is_whole or kind is None or isinstance(kind, Struct)

    def _is_proper(self, reading: Reading) -> bool:
        """Return whether the value is an identity that its column takes as it is."""
        kind = self._kind(reading)
        is_number = isinstance(reading.value, int) and not isinstance(reading.value, bool)
        takes_text = kind is None or kind == _TEXT
        return reading.is_whole and (is_number or (takes_text and isinstance(reading.value, str)))

    def _is_known(self, reading: Reading) -> bool:
        if not self._is_proper(reading):
            return False
        text = str(reading.value)
        # Without a column nobody knows whether it is one of numbers, for which these are one identity.
        others = () if self._kind(reading) is not None else (text.strip(), plain_number(text.strip()))
        return any(each is not None and self._suppression.holds(each) for each in (text, *others))

    def _kind(self, reading: Reading) -> Type | None:
        path = spell_path(reading.path, self._fields)
        return type_at(path, self._fields) if path else None


def parsed_object(text: str) -> dict[str, Any] | None:
    """Return the object of a JSON text. None if it is not such a text."""
    try:
        content = foreign_json(text)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _are_within(readings: Iterable[Reading], sides: Sequence[tuple[str, ...]]) -> list[bool]:
    return [
        any(len(reading.path) > len(side) and reading.path[: len(side)] == side for side in sides)
        for reading in readings
    ]
