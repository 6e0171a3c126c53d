"""Values of a feed that look encoded although no file states their type: a question for a person."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.platform.core.infer.sampled_changes import SampledChange

_YEAR_1990, _YEAR_2100 = 631_152_000, 4_102_444_800
#: By encoding, how many of its units a second has.
_UNITS = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
#: Identities may be as large as nanoseconds, and any small number may be days: only names like these are asked about.
_TIME_COLUMN_NAME = re.compile(
    r"date|time|day|born|birth|dob|(^|_)(at|on|ts|since|until|created|updated)$", re.IGNORECASE
)
_IDENTITY = re.compile(r"(id|key|no|number|phone|mobile|code)$", re.IGNORECASE)
#: Days of 1980 to 2099, and of people's births before.
_DAYS = range(-25_000, 47_482)
#: Smaller numbers are durations, and numbers of a day in a month or year.
_LEAST_DAYS = 400
#: Bytes of the largest decimal.
_MAX_BYTES = 16
#: Base64 of numbers has paddings, or capital letters and digits where words have none.
_NO_WORD = re.compile(r"=$|[a-z][A-Z0-9]|[A-Z]{2}[a-z]|^[A-Z]{3}")
_UNKNOWN = (
    "the files do not state the types of the database: if numbers of theirs are times, or texts are base64, give "
    "`decode` (docs/guides/change-feeds.md)"
)


def questions(fields: Mapping[str, str], changes: Sequence[SampledChange]) -> tuple[str, ...]:
    """Returns a sentence for each column whose values look encoded, as Debezium encodes decimals and times.

    Args:
        fields: SQL types of the columns whose type no file states.
        changes: the changes of a sample.
    """
    if not changes:
        return (_UNKNOWN,) if any(kind in ("bigint", "int", "binary") for kind in fields.values()) else ()
    found = []
    for name in fields:
        values = [change.values[name] for change in changes if name in change.values]
        if encoding := _encoding(name, values):
            what, entry = encoding
            found.append(f"decode of {name}? Its values look like {what}: if they are, add {name}: {entry} to decode")
    return tuple(found)


def _encoding(name: str, values: Sequence[Any]) -> tuple[str, str] | None:
    """Returns what values look like, and the entry of `decode` for them."""
    if not values:
        return None
    if all(isinstance(value, str) for value in values):
        is_number = all(map(_is_number, values)) and any(map(_NO_WORD.search, values))
        return ("decimals in base64", "decimal(p, s)") if is_number else None
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return None
    named = _TIME_COLUMN_NAME.search(name)
    for unit, per_second in _UNITS.items():
        within = all(_YEAR_1990 * per_second <= value < _YEAR_2100 * per_second for value in values)
        if within and (named or (unit != "nanoseconds" and not _IDENTITY.search(name))):
            return f"{unit} since 1970", unit
    if named and all(value in _DAYS and abs(value) > _LEAST_DAYS for value in values):
        return "days since 1970", "days"
    return None


def _is_number(text: str) -> bool:
    """Returns whether a text is base64 of a number, with as few bytes as the number needs."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    is_padded = len(data) > 1 and (data[0], data[1] >= 0x80) in ((0x00, False), (0xFF, True))
    return 0 < len(data) <= _MAX_BYTES and not is_padded
