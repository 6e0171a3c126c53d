"""What `tidegate status` and `tidegate tail` print with `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from tidegate.platform.cli.answers.answer import Answer


class StatusTable(Answer):
    """The backlog of a table."""

    table: str
    """SQL name of a configured table, else the table key."""
    key: str
    """Table key."""
    behind: bool
    """Whether the oldest event has waited for longer than it may."""
    files: int
    """Number of waiting events. A file with two events counts twice."""
    at_least: bool
    """Whether more wait than were listed."""
    bytes: int
    """Size of their files, as far as the events contain it."""
    oldest_seconds: float
    """Age of the oldest waiting event."""
    limit_seconds: int
    """The longest time that an event may wait: `window` and `max_lag`."""
    last_commit: datetime | None
    """When the last run that had something to do ended. null also for tables beyond the most urgent ones."""
    quarantined: int
    """Objects and rows that were quarantined in the last 24 hours."""
    incomplete_dataset_files: int | None
    """Files and signals of incomplete datasets. null without `completion`."""


class StatusQueue(Answer):
    """The messages of a queue."""

    queue: str
    """Name of the queue."""
    waiting: int
    """Messages that can be received."""
    in_flight: int
    """Messages that were received and not deleted yet."""
    dead_letters: int | None
    """Messages in its dead-letter queue. null if there is none, or if it did not answer."""
    missed: Mapping[str, int]
    """Events of the day (UTC) that no table takes, by outcome."""


class StatusRoute(Answer):
    """The messages that wait to be forwarded by a route."""

    route: str
    """Name of the route."""
    behind: bool
    """Whether the oldest message has waited for longer than it may."""
    messages: int
    """Number of waiting messages, at least."""
    oldest_seconds: float
    """Age of the oldest of their events."""
    limit_seconds: int | None
    """`max_lag` of the route. null if `lake.yaml` does not have the route any more."""
    undeliverable: int
    """Messages that the destination never takes, at least."""


class StatusFailure(Answer):
    """A table whose last run failed."""

    table: str
    """Table key, or `silver.<name>`."""
    run: str
    """Dagster's id of the run."""
    at: datetime
    """When it ended."""
    why: str
    """First line of the error. Empty if Dagster has none."""


class StatusCheck(Answer):
    """A check of the asset `lake_health`."""

    name: str
    """Name of the check."""
    passed: bool
    """Its result."""
    severity: Literal["error", "warning"]
    """Whether its failure makes the exit code 1."""
    what_to_do: str
    """Empty if the check passed, or if the numbers say it."""


class StatusAnswer(Answer):
    """The health of a lake."""

    at: datetime
    """Time of the measurement."""
    ok: bool
    """Whether the exit code is 0."""
    tables: tuple[StatusTable, ...]
    """Every table, the most urgent first."""
    queues: tuple[StatusQueue, ...]
    """The queues that answered."""
    routes: tuple[StatusRoute, ...]
    """Every route, the most urgent first."""
    failed: tuple[StatusFailure, ...]
    """The tables whose last run failed."""
    checks: tuple[StatusCheck, ...]
    """The checks of `lake_health`."""
    unknown: tuple[str, ...]
    """A sentence for each measurement that failed."""
    spark: str | None
    """What is known of a Spark server that is only there for work. null if it is always there."""


class NewsAnswer(Answer):
    """Something that happened in the lake. `tidegate tail` prints one such object on each line."""

    at: datetime
    """When it happened, or when it was seen."""
    event: Literal["waiting", "committed", "quarantined", "merged", "failed", "unknown"]
    """What happened. `unknown`: something did not answer."""
    table: str
    """SQL name of a configured table, else the table key; `silver.<name>` of a silver table. May be empty."""
    numbers: Mapping[str, float | int]
    """Numbers of the event, such as `files`, `rows`, `bytes`, `batch` and `delta_version`."""
    key: str | None
    """Key of the quarantined object."""
    detail: str
    """The reason of a quarantine or of a failure. May be empty."""
