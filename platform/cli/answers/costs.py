"""What `tidegate cost` prints with `--json`."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.platform.cli.answers.answer import Answer


class CostOfMonth(Answer):
    """What a table cost in a month."""

    month: str
    """The month (UTC), such as `2026-11`."""
    dollars: Mapping[str, float]
    """Dollars by service. `storage` is known of this month only."""
    total: float
    """Dollars of all services."""
    batches: int
    """Batches of bronze."""
    merges: int
    """Merges of silver, computed from the batches. 0 if a schedule merges it."""
    files: int
    """Files that were read."""
    bytes: int
    """Their size."""
    s3_writes: float
    """PUTs and LISTs, computed from the counts of the ledger."""
    s3_reads: float
    """GETs and HEADs, computed from the counts of the ledger."""
    sqs_requests: float
    """Requests to SQS, computed from the counts of the ledger."""
    dynamodb_writes: float
    """Write request units, computed from the counts of the ledger."""
    dynamodb_reads: float
    """Read request units, computed from the counts of the ledger."""
    core_seconds: float
    """CPU seconds of Dagster and Spark."""
    listed: float
    """Share of the table's folders whose bytes an inventory lists. The log has the live bytes of the others."""
    measured: float
    """Share of the seconds of batches that the ledger has measured. The rest is computed."""


class CheapestSettings(Answer):
    """Settings with which the last month would have cost least."""

    window: int
    """Seconds that the oldest hint waits."""
    every: int | None
    """Seconds between two checks for a merge of silver. null without such checks."""
    saving: float
    """Dollars of the month."""
    share: float
    """What the month would have cost, as a share of what it did."""
    text: str
    """The remedy as a sentence."""


class CostOfTable(Answer):
    """What one table costs."""

    table: str
    """SQL name of the table."""
    months: tuple[CostOfMonth, ...]
    """The last month first."""
    remedy: CheapestSettings | None
    """null if no setting saves a twentieth and keeps rows fresh."""


class UnitOfCost(Answer):
    """A unit that the costs are computed with."""

    value: float
    """The number."""
    unit: str
    """What it counts."""
    source: str
    """Where it was measured or published, or that it is assumed."""
    date: str
    """When, as an ISO 8601 date."""


class CostsAnswer(Answer):
    """What the tables of the lake cost."""

    tables: tuple[CostOfTable, ...]
    """The most expensive first."""
    more: int
    """Number of tables that `--limit` left out."""
    unread: Mapping[str, str]
    """Why tables are left out, by key: their birth record or a log cannot be read."""
    figures: Mapping[str, UnitOfCost]
    """The units of cost, by name."""
