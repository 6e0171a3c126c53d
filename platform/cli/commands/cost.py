"""`tidegate cost` prints what the tables of the lake cost, and which settings would cost less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tidegate.platform.cli.answers.answer import Answer, print_answer
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.lake import CostsSpec
from tidegate.platform.core.costs.figures import Figures
from tidegate.platform.core.costs.table_cost import LakeCosts, MonthCost, TableReport
from tidegate.platform.core.costs.usage import Usage
from tidegate.platform.inventory.costs.measure import cost_figures, table_costs
from tidegate.platform.inventory.stored_objects import folder_of
from tidegate.platform.lake.lake import Lake
from tidegate.platform.query.table_lookup import table_named

#: Services in the order of the columns, with their titles.
_COLUMNS = ("storage", "compute", "S3 requests", "SQS", "DynamoDB")


@dataclass(frozen=True)
class CostsQuestion:
    """What should be printed.

    Attributes:
        table: SQL name, key or `s3://` prefix of the table. Empty: all tables.
        months: number of months, this one among them. None: as `lake.yaml` says.
        fresh: seconds by which settings may delay a row. None: as `lake.yaml` says.
        limit: maximum number of tables.
    """

    table: str = ""
    months: int | None = None
    fresh: int | None = None
    limit: int = 50


def run_cost(console: Console, lake: Lake, lake_yaml: Path, asked: CostsQuestion, *, as_json: bool = False) -> None:
    """Print the cost by table and month, the most expensive table first, and the remedies.

    Args:
        lake_yaml: path of `lake.yaml`.
        asked: what should be printed.
        as_json: print only one JSON object.

    Raises:
        CommandError: the table or a price list is not one.
    """
    spec, now = lake.config.costs or CostsSpec(), datetime.now(UTC)
    try:
        figures = cost_figures(spec, folder_of(str(lake_yaml)), now, lake.config.lake.commits)
    except ValueError as error:
        raise CommandError(str(error)) from None
    only = table_named(lake, asked.table) if asked.table else ""
    months = spec.months if asked.months is None else asked.months
    fresh = spec.fresh if asked.fresh is None else asked.fresh
    costs = table_costs(lake, figures, now, months, fresh, only)
    if only in costs.unread:
        raise CommandError(f"{asked.table} cannot be read: {costs.unread[only]}")
    if only and not costs.tables:
        raise CommandError(f"{asked.table} has no batch yet, so there is nothing that it cost")
    if as_json:
        print_answer(console, _answer(costs, figures, asked.limit))
    else:
        _print(console, costs.tables, asked.limit)
        for warning in costs.warnings:
            console.print(f"WARNING: {warning}", markup=False)


def _answer(costs: LakeCosts, figures: Figures, limit: int) -> CostsAnswer:
    return CostsAnswer(
        tables=tuple(
            CostOfTable(table=table.table, months=tuple(map(_month, table.months)), remedy=_remedy(table))
            for table in costs.tables[:limit]
        ),
        more=max(0, len(costs.tables) - limit),
        unread=dict(costs.unread),
        figures={name: UnitOfCost(**figure.to_json()) for name, figure in figures.figures_with_sources().items()},
    )


def _month(cost: MonthCost) -> CostOfMonth:
    usage = {field.name: getattr(cost.usage, field.name) for field in fields(Usage)}
    return CostOfMonth(
        month=cost.month,
        dollars=cost.dollars,
        total=cost.total,
        batches=cost.batches,
        merges=cost.merges,
        files=cost.files,
        bytes=cost.bytes,
        listed=cost.listed,
        measured=cost.measured,
        events=cost.events,
        listings=cost.listings,
        **usage,
    )


def _remedy(table: TableReport) -> CheapestSettings | None:
    remedy = table.remedy
    if remedy is None:
        return None
    return CheapestSettings(
        window=remedy.timing.window,
        every=remedy.timing.every,
        saving=remedy.saving,
        share=remedy.share,
        text=table.advice,
    )


def _print(console: Console, tables: Sequence[TableReport], limit: int) -> None:
    shown = Table("table", "month")
    for name in ("dollars", *_COLUMNS, "batches", "measured"):
        shown.add_column(name, justify="right")
    for table in tables[:limit]:
        for cost in table.months:
            parts = ("–" if name not in cost.dollars else f"{cost.dollars[name]:,.4f}" for name in _COLUMNS)
            counts = f"{cost.batches:,}", f"{cost.measured:.0%}"
            shown.add_row(table.table, cost.month, f"{cost.total:,.4f}", *parts, *counts)
    console.print(shown)
    if len(tables) > limit:
        console.print(f"and {len(tables) - limit} more tables: --limit shows more")
    for table in tables[:limit]:
        if table.remedy:
            console.print(f"{table.table}: {table.advice}")
    last = [table.months[0] for table in tables if table.months]
    if listings := sum(cost.listings for cost in last):
        events = sum(cost.events for cost in last)
        console.print(
            f"Their events cost {events:,.4f} dollars of this month, or would. To list the folders as often instead "
            f"costs {listings:,.4f} at least"
        )
    console.print(
        "The ledger measures the seconds of batches, as far as `measured` says. Requests are computed from its counts, "
        "and storage is that of the table's files now. --json has the units of cost with their sources"
    )


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
    events: float
    """Dollars of requests to SQS. Of a table without a queue, what its events would have cost."""
    listings: float
    """Dollars that listings as often as batches would have cost in place of events, without files of earlier months."""


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
