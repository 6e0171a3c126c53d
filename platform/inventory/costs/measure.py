"""Computes what the tables of a lake cost, from their ledgers, their logs and the bytes of their files."""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pyspark.errors import PySparkException

from tidegate.platform.core.config.commits import Commits
from tidegate.platform.core.config.lake import CostsSpec, LakeConfig
from tidegate.platform.core.costs.figures import FIGURES, Figures
from tidegate.platform.core.costs.replay import Timing
from tidegate.platform.core.costs.table_cost import (
    LakeCosts,
    Recorded,
    Stored,
    TableCost,
    TableFacts,
    TableReport,
    most_expensive_first,
)
from tidegate.platform.core.schema.sql_literal import delta_table
from tidegate.platform.inventory.costs.inventory_sizes import inventory_sizes
from tidegate.platform.inventory.costs.recorded_months import recorded_months
from tidegate.platform.inventory.costs.recorded_tables import TABLE_ERRORS, recorded_tables, unread_because
from tidegate.platform.inventory.stored_objects import read_prices
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.session import command
from tidegate.platform.lake.threads import parallel

#: Dagster's daemon starts no tick sooner after the one before.
_MIN_TICK = 5


def cost_figures(spec: CostsSpec, folder: Path, now: datetime, commits: Commits = "dynamodb") -> Figures:
    """Return the units of cost that a lake is computed with.

    Args:
        spec: of the lake.
        folder: to which the paths of price lists are relative.
        now: when they are computed.
        commits: how the lake coordinates commits.

    Raises:
        ValueError: a price list cannot be read, or is none. The message says what to do.
    """
    paths = [folder / path for path in spec.prices]
    figures = FIGURES.with_prices(read_prices(paths), ", ".join(spec.prices)) if paths else FIGURES
    if commits == "s3":
        figures = figures.without_dynamodb()
    return figures.with_values(spec.figures, now.date())


def table_costs(
    lake: Lake, figures: Mapping[str, float], now: datetime, months: int, fresh: int, only: str = ""
) -> LakeCosts:
    """Return what tables cost.

    Args:
        figures: units of cost.
        months: number of months, this one among them.
        fresh: seconds by which settings may delay a row.
        only: key of the only table that is asked for. The ledgers of the others are read too: they show which runs
            several tables shared.

    Raises:
        SparkUnreachable: the Spark server does not answer.
        PySparkException: it was restarted.
    """
    recorded = recorded_tables(lake)
    tables, unread = recorded.tables, dict(recorded.unread)
    asked = [key for key in tables if only in ("", key)]
    stored = _measure_stored_tables(tables, asked, inventory_sizes(lake, now), now, unread)
    failed: dict[str, PySparkException] = {}
    reports = [
        _report(tables[key], found, figures, now, fresh, stored[key])
        for key, found in recorded_months(
            recorded.ledgers, first_month(now, months), _tick(lake.config), failed, set(stored)
        )
    ]
    unread |= {key: unread_because(lake.delta, error) for key, error in failed.items()}
    return LakeCosts(most_expensive_first(reports), unread)


def first_month(now: datetime, months: int) -> datetime:
    """Return the beginning of the first of some months (UTC), of which this one is the last."""
    number = now.astimezone(UTC).year * 12 + now.astimezone(UTC).month - months
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)


def _report(
    table: Table, recorded: list[Recorded], figures: Mapping[str, float], now: datetime, fresh: int, stored: Stored
) -> TableReport:
    month = now.astimezone(UTC).strftime("%Y-%m")
    if not recorded or recorded[0].month != month:
        recorded = [Recorded(month), *recorded]
    facts = _facts(table, fresh)
    costs = [TableCost(each, facts, figures) for each in recorded]
    costs[0] = TableCost(recorded[0], facts, figures, stored)
    # Nothing has come this month: the remedy is that of the last month with batches.
    judged = next((cost for cost in costs if cost.recorded.arrivals), costs[0])
    return TableReport(
        table=table.birth.name if table.birth else table.spec.name,
        table_key=table.table_key,
        timing=facts.timing,
        months=[cost.month() for cost in costs],
        remedy=judged.remedy(),
    )


def _facts(table: Table, fresh: int) -> TableFacts:
    spec = table.spec
    silver = spec.silver if table.lake.config.table_for(table.key) else None
    return TableFacts(
        timing=Timing(spec.window, silver.every if silver else None),
        registers=bool(table.birth and table.birth.registered),
        max_files=spec.max_files,
        tick=_tick(table.lake.config),
        fresh=min(fresh, spec.lag_limit, *([spec.arrives_every] if spec.arrives_every else [])),
    )


def _tick(config: LakeConfig) -> float:
    """Return the seconds between two ticks of the intake."""
    return float(max(_MIN_TICK, config.intake.every))


def _measure_stored_tables(
    tables: Mapping[str, Table], asked: Sequence[str], listed: Mapping[str, int], now: datetime, unread: dict[str, str]
) -> dict[str, Stored]:
    """Return the bytes of tables. `unread` gets those whose log cannot be read."""

    def measure_table(key: str) -> Stored | str:
        try:
            return _measure_table(tables[key], listed, now)
        except TABLE_ERRORS as error:
            return unread_because(tables[key].lake.delta, error)

    found = dict(zip(asked, parallel(measure_table, asked), strict=True))
    unread |= {key: reason for key, reason in found.items() if isinstance(reason, str)}
    return {key: size for key, size in found.items() if not isinstance(size, str)}


def _measure_table(table: Table, listed: Mapping[str, int], now: datetime) -> Stored:
    """Return the bytes of the table, its ledger and its silver table.

    Args:
        listed: bytes of folders in the inventory of the lake's bucket. The log has the bytes of the others.
    """
    places = [table.ledger.location]
    if table.birth and not table.birth.output:
        places.append(table.birth.location)
    if table.spec.silver:
        places.append(table.lake.store.uri("silver", table.spec.name))
    places = [place.rstrip("/") for place in places]
    known = [place for place in places if place in listed]
    others = [place for place in places if place not in listed]
    size = sum(listed[place] for place in known) + stored_bytes(table.delta, others)
    return Stored(size, _elapsed_share(now), listed=len(known) / len(places))


def _elapsed_share(now: datetime) -> float:
    """Return the share of the month that has passed."""
    utc = now.astimezone(UTC)
    days = calendar.monthrange(utc.year, utc.month)[1]
    return (utc - datetime(utc.year, utc.month, 1, tzinfo=UTC)).total_seconds() / (days * 86_400)


def stored_bytes(delta: Delta, locations: Iterable[str]) -> int:
    """Return the bytes of the live files of tables. Tables that do not exist have none.

    Args:
        locations: `s3a://` URIs.
    """
    found = 0
    for location in locations:
        if delta.table_state(location).exists:
            (detail,) = command(delta.session, f"DESCRIBE DETAIL {delta_table(location)}")
            found += detail["sizeInBytes"] or 0
    return found
