"""Whether a table has the content of a file, whatever Python types the two readers return."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Cell:
    """The text of a CSV cell. A value of any type is equal if nothing of the text is lost."""

    text: str

    def same(self, value: Any) -> bool:
        """Return whether a value stands for exactly this text."""
        if isinstance(value, str):
            return value == self.text
        if isinstance(value, bool):
            return self.text.lower() == str(value).lower()
        if isinstance(value, int):
            return self.text == str(value)
        if isinstance(value, float) and math.isnan(value):
            return self.text.lower() == "nan"
        if isinstance(value, float | Decimal):
            return _number(self.text) is not None and _number(self.text) == _number(repr(value).strip("Decimal()'"))
        if isinstance(value, datetime):
            return _instant(self.text) == _utc(value)
        return isinstance(value, date) and value.isoformat() == self.text


@dataclass(frozen=True)
class Json:
    """A JSON value of a column with several kinds of values. Its text is accepted too."""

    value: Any

    def same(self, value: Any) -> bool:
        """Return whether a value is this one, or its text."""
        if isinstance(value, str) and value != self.value:
            return bool(json.loads(value) == self.value)
        return same(self.value, value)


def plain(value: Any) -> Any:
    """Convert a value to plain Python types."""
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    match value:
        case pd.Timestamp():
            assert value.nanosecond == 0, "a case that expects the same values must not have nanoseconds"
            return _utc(value.to_pydatetime())
        case datetime():
            return _utc(value)
        case time() | UUID():
            return str(value)
        case bytearray() | memoryview():
            return bytes(value)
        case np.ndarray():
            return [plain(element) for element in value.tolist()]
        case np.generic():
            return plain(value.item())
        case Mapping():
            return {key: plain(element) for key, element in value.items()}
        case list() | tuple():
            return [plain(element) for element in value]
        case float() if math.isnan(value):
            return "not a number"
    return value


def same(expected: Any, found: Any) -> bool:
    """Return whether a value of the table equals the file's."""
    if isinstance(expected, Cell | Json):
        return found is not None and expected.same(found)
    expected, found = plain(expected), plain(found)
    if isinstance(expected, int) and abs(expected) >= 10**38:
        return bool(found == str(expected))  # more digits than any number in a table
    if expected is None or found is None:
        return expected is found
    if isinstance(expected, dict):
        pairs = found.items() if isinstance(found, dict) else found
        return isinstance(found, dict | list) and _same_fields(expected, dict(pairs))
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(same(element, other) for element, other in zip(expected, found, strict=True))
        )
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float | Decimal) and isinstance(found, int | float | Decimal):
        return _same_number(expected, found)
    if isinstance(expected, str) and isinstance(found, datetime):
        return _instant(expected) == found
    return bool(expected == found)


def _same_fields(expected: dict[Any, Any], found: dict[Any, Any]) -> bool:
    """Return a field that JSON leaves out is null in a struct."""
    return all(same(expected.get(name), found.get(name)) for name in {*expected, *found})


def _same_number(expected: Any, found: Any) -> bool:
    if isinstance(expected, Decimal) or isinstance(found, Decimal):
        return _number(str(expected)) == _number(str(found))
    return bool(expected == found)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _utc(value: datetime) -> datetime:
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def _instant(text: str) -> datetime | None:
    try:
        return _utc(datetime.fromisoformat(text))
    except ValueError:
        return None
