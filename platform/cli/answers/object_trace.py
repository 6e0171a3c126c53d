"""What `tidegate trace` prints with `--json`."""

from __future__ import annotations

from datetime import datetime

from tidegate.platform.cli.answers.answer import Answer


class StopAnswer(Answer):
    """A stop on an object's way."""

    at: datetime | None
    """Time of the stop, if it is known."""
    what: str
    """The place, in a word or two."""
    detail: str
    """What is recorded there."""


class TraceAnswer(Answer):
    """The way of an object to its table."""

    address: str
    """The object, as `s3://bucket/key`."""
    stops: tuple[StopAnswer, ...]
    """The stops, in their order."""
    verdict: str
    """Whether the table has the object's present bytes, and what to do if it does not."""
    waits_for: str | None
    """Key of the table whose next run decides the object. null if the object does not wait."""
    last_failure: str | None
    """When and why the last run of that table failed. null if it did not, or if no storage of Dagster is known."""
