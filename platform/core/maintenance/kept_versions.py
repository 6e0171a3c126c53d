"""For how long a Delta table keeps what its old versions need, by its properties."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

_FILES, _LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
#: Delta's defaults.
_DEFAULTS = {_FILES: timedelta(days=7), _LOG: timedelta(days=30)}
_UNITS = {"week": 7 * 86400, "day": 86400, "hour": 3600, "minute": 60, "second": 1}


def deleted_file_retention(properties: Mapping[str, str]) -> timedelta:
    """Return for how long the files of a table are kept after they were removed.

    Args:
        properties: of the table.

    Raises:
        ValueError: the retention is no number of weeks, days, hours, minutes or seconds.
    """
    return _retention(properties, _FILES)


def log_retention(properties: Mapping[str, str]) -> timedelta:
    """Return for how long the commits of a table are kept in its log.

    Raises:
        ValueError: as `deleted_file_retention`.
    """
    return _retention(properties, _LOG)


def _retention(properties: Mapping[str, str], name: str) -> timedelta:
    text = properties.get(name)
    if not text:
        return _DEFAULTS[name]
    parts = re.findall(r"(?<!\d)(\d++)\s++(week|day|hour|minute|second)s?", text.lower())
    if not parts:
        raise ValueError(f"{name} is {text!r}: use weeks, days, hours, minutes or seconds, such as `interval 7 days`")
    return timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in parts))
