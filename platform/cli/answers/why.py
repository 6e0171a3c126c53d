"""What `tidegate why` prints with `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidegate.platform.cli.answers.answer import Answer
from tidegate.platform.core.silver.fates.key_row import Fate


class WhyRow(Answer):
    """A row of bronze with the key, and what became of it."""

    batch: int | None
    """Number of its batch. null if its file was rewritten, so the batch is not known."""
    fate: Fate
    """What became of it."""
    why: str
    """The fate as a sentence."""
    order: Mapping[str, Any]
    """The parts of its order, `o1`, `o2`, …"""
    values: Mapping[str, Any]
    """The values that silver has or would have."""
    deletes: bool
    """Whether it deletes the key."""
    file: str | None
    """Its file, as `s3://bucket/key`. null if a full dump does not have the key."""
    event: str
    """The event that announced the file, and the run that read it."""
    recorded_at: datetime | None
    """When its batch was recorded."""


class WhyAnswer(Answer):
    """The rows of bronze with a key, and silver's row of it."""

    table: str
    """The silver table."""
    key: str
    """The key, as `order_id = 42`."""
    is_right: bool
    """Whether silver has what bronze gives."""
    verdict: str
    """What silver has, and why."""
    silver: Mapping[str, Any] | None
    """Silver's row, with its own columns. null if it has none, or the history of each key."""
    history: tuple[Mapping[str, Any], ...]
    """Silver's rows of a history, with its own columns, the newest first."""
    rows: tuple[WhyRow, ...]
    """The rows of bronze, the newest first."""
    more: bool
    """Whether bronze has more rows, which are older."""
    sql: tuple[str, ...]
    """Queries that show the rows in bronze and in silver."""
    notes: tuple[str, ...] = ()
    """Sentences about newer full dumps that are not complete, and so delete nothing."""
