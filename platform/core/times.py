"""Instants: read from texts, and counted since 1970 (UTC)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_time(text: str) -> datetime:
    """Return the instant that a text in ISO 8601 gives; a text without a time zone is in UTC.

    Raises:
        ValueError: the text is not a time.
    """
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def to_micros(time: datetime) -> int:
    """Return microseconds since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def to_millis(time: datetime) -> int:
    """Return milliseconds since 1970."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def from_micros(micros: int) -> datetime:
    """Return the instant so many microseconds after 1970, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def from_millis(millis: int) -> datetime:
    """Return the instant so many milliseconds after 1970, in UTC."""
    return _EPOCH + timedelta(milliseconds=millis)
