"""The health of a lake in Dagster: a page in Markdown, numbers that the UI plots, and checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from tidegate.assets.presentation.check_events import COLLAPSE_CHECK, check_result
from tidegate.assets.presentation.markdown import markdown
from tidegate.assets.runs.failed_runs import FailedRun
from tidegate.platform.core.health.measurement import Health, QueueHealth, RouteHealth, TableHealth
from tidegate.platform.core.markdown import Markdown, cell, code, join_texts, prose, sentence
from tidegate.platform.core.wording import NARROW, one_line, size_text, span

KEEPS_UP_CHECK = "keeps_up"
ALL_KEEP_UP_CHECK = "every_table_keeps_up"
DEAD_LETTERS_CHECK = "no_dead_letters"
MEASURED_CHECK = "everything_is_measured"
RUNS_CHECK = "no_table_s_runs_fail"
ROUTES_CHECK = "every_route_delivers"
DATASETS_CHECK = "every_dataset_completes"
DESCRIPTIONS = {
    ALL_KEEP_UP_CHECK: "No event waits for a table for longer than its window and max_lag.",
    DEAD_LETTERS_CHECK: "No dead-letter queue has a message.",
    MEASURED_CHECK: "Inbox and queues answered, and the metrics were published.",
    RUNS_CHECK: "The last run of every table, and the last merge of every silver table, did not fail.",
}
#: The checks of a lake with routes.
ROUTE_DESCRIPTIONS = {
    ROUTES_CHECK: "No event waits to be forwarded for longer than its route's max_lag.",
}
#: The checks of a lake with silver tables.
SILVER_DESCRIPTIONS = {
    COLLAPSE_CHECK: "The last merge of each silver table passed its check silver_keeps_rows_apart.",
}
#: The checks of a lake with completion signals.
DATASET_DESCRIPTIONS = {
    DATASETS_CHECK: "No file waits for a completion signal, and no signal for its files, for longer than the table's "
    "window and max_lag.",
}
#: Tables, the most urgent first, and failed runs that the page shows.
MAX_SHOWN = 30
#: Earlier measurements whose lags the page shows.
MAX_EARLIER = 11
_BEHIND = f"⚠{NARROW}"
_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class HealthReport:
    """A measurement, and what the page shows in addition.

    Attributes:
        health: the measurement.
        earlier: lags in seconds by table name, for each earlier measurement, the oldest first.
        commits: epoch seconds of the last commit, by table key, of the shown tables.
        failed: the last runs of tables whose last run failed, by table key, or `silver.<name>`.
        merged: what the last merges met that gives wrong rows, by `silver.<name>`; empty where they met nothing. None
            if the lake has no silver tables.
    """

    health: Health
    earlier: Sequence[Mapping[str, float]] = ()
    commits: Mapping[str, float | None] = field(default_factory=dict)
    failed: Mapping[str, FailedRun] = field(default_factory=dict)
    merged: Mapping[str, Markdown] | None = None

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the materialization: the page, and numbers that the UI plots."""
        health = self.health
        return {
            "overview": markdown(self.page()),
            "pending_files": health.files,
            "pending_bytes": health.size,
            "oldest_seconds": round(health.lag, 1),
            "tables": len(health.tables),
            "tables_behind": len(health.behind),
            "tables_failing": len(self.failed),
            "in_queues": sum(queue.waiting for queue in health.queues),
            "in_flight": sum(queue.in_flight for queue in health.queues),
            "dead_letters": health.dead,
            "without_table": sum(sum(queue.missed.values()) for queue in health.queues),
            "quarantined": sum(health.quarantined.values()),
            **self._route_numbers(),
            **self._dataset_numbers(),
            "lags": {table.name: round(table.lag) for table in health.tables[:MAX_SHOWN] if table.files},
        }

    def page(self) -> Markdown:
        """Return the page, in Markdown."""
        health = self.health
        verdict = (
            f"{len(health.behind)} of {len(health.tables)} tables behind" if health.behind else "no table is behind"
        )
        if health.routes_behind:
            verdict += f", {len(health.routes_behind)} of {len(health.routes)} routes behind"
        lines = [
            f"**{_moment(health.at)} UTC: {verdict}{self._describe_failures()}{self._describe_quarantine()}.** "
            f"{health.files:,} files "
            f"({size_text(health.size)}) wait" + (f", the oldest for {span(health.lag)}." if health.files else "."),
            *(f"\n**Not known:** {prose(sentence)}" for sentence in health.unknown),
            *(f"\n**Fails:** {failure}" for failure in self._failures(prose)),
            "",
            "| table | oldest | files | bytes | commit | bad | last hour |",
            "|---|--:|--:|--:|--:|--:|---|",
            *(self._row(table) for table in health.tables[:MAX_SHOWN]),
        ]
        if (rest := len(health.tables) - MAX_SHOWN) > 0:
            lines.append(f"\nand {rest} more tables, less urgent than these")
        lines += [
            "",
            "| queue | waiting | in flight | dead | no table, today | malformed, today |",
            "|---|--:|--:|--:|--:|--:|",
            *map(_queue_row, health.queues),
        ]
        if health.routes:
            lines += [
                "",
                "| route | oldest | waiting | undeliverable |",
                "|---|--:|--:|--:|",
                *map(_route_row, health.routes[:MAX_SHOWN]),
            ]
        if waiting := [table for table in _with_signals(health) if table.undecided]:
            lines += ["", "| incomplete datasets of | oldest | files and signals |", "|---|--:|--:|"]
            lines += [_dataset_row(table) for table in waiting[:MAX_SHOWN]]
        if (rest := len(health.routes) - MAX_SHOWN) > 0:
            lines.append(f"\nand {rest} more routes, less urgent than these")
        return Markdown("\n".join(lines))

    def _dataset_numbers(self) -> dict[str, int | float]:
        tables = _with_signals(self.health)
        if not tables:
            return {}
        return {
            "incomplete_dataset_files": sum(table.undecided or 0 for table in tables),
            "oldest_incomplete_dataset_seconds": round(max(table.undecided_age for table in tables), 1),
        }

    def _route_numbers(self) -> dict[str, int | float]:
        routes = self.health.routes
        if not routes:
            return {}
        return {
            "to_forward": sum(route.messages for route in routes),
            "oldest_to_forward_seconds": round(max(route.lag for route in routes), 1),
            "routes_behind": len(self.health.routes_behind),
            "undeliverable": sum(route.undeliverable for route in routes),
        }

    def _row(self, table: TableHealth) -> str:
        lags = [*(before.get(table.name, 0.0) for before in self.earlier), table.lag]
        cells = [
            f"{_BEHIND if table.behind else ''}{cell(table.name, code)}",
            NARROW.join([span(table.lag), "of", span(table.limit)]) if table.files else "",
            f"{table.files:,}{'' if table.whole else '+'}",
            size_text(table.size) if table.files else "",
            self._commit(table),
            f"{self.health.quarantined[table.key]:,}" if table.key in self.health.quarantined else "",
            sparkline(lags, table.limit) if any(lags) else "",
        ]
        return f"| {' | '.join(cells)} |"

    def _commit(self, table: TableHealth) -> str:
        at = self.commits.get(table.key)
        return span(self.health.at - at) + NARROW + "ago" if at else ""

    def _describe_failures(self) -> str:
        number = len(self.failed)
        return f", the last run of {number} {'table' if number == 1 else 'tables'} failed" if number else ""

    def _describe_quarantine(self) -> str:
        number = sum(self.health.quarantined.values())
        return (
            f", {number:,} {'object or row' if number == 1 else 'objects and rows'} quarantined in 24 hours"
            if number
            else ""
        )

    def _failures(self, show: Callable[[str], str] = one_line) -> list[str]:
        """Return a line for each table whose last run failed, with the reason."""
        names = {table.key: table.name for table in self.health.tables}
        lines = [f"{code(names.get(table, table))} {show(str(failed))}" for table, failed in self.failed.items()]
        more = len(lines) - MAX_SHOWN
        return lines[:MAX_SHOWN] + ([f"and {more} more tables"] if more > 0 else [])

    def checks(self, asset: dg.AssetKey) -> list[dg.AssetCheckResult]:
        """Return the results of the lake's checks."""
        health = self.health
        behind = [
            dg.TableRecord(
                {"table": table.name, "oldest": round(table.lag), "limit": table.limit, "files": table.files}
            )
            for table in health.behind[:MAX_SHOWN]
        ]
        dead = {queue.name: queue.dead for queue in health.queues if queue.dead}
        return [
            check_result(
                asset_key=asset,
                check_name=ALL_KEEP_UP_CHECK,
                passed=not health.behind,
                metadata={
                    "tables_behind": len(health.behind),
                    **({"behind": dg.MetadataValue.table(behind)} if behind else {}),
                },
                description=sentence("look at the failed runs of their partitions of bronze") if behind else None,
            ),
            check_result(
                asset_key=asset,
                check_name=DEAD_LETTERS_CHECK,
                passed=not dead,
                metadata={"dead_letters": health.dead, **({"queues": dead} if dead else {})},
                description=sentence("fix the cause, then: `tidegate redrive --dlq`") if dead else None,
            ),
            check_result(
                asset_key=asset,
                check_name=MEASURED_CHECK,
                passed=not health.unknown,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"unknown": list(health.unknown)},
            ),
            check_result(
                asset_key=asset,
                check_name=RUNS_CHECK,
                passed=not self.failed,
                # A failed run is tried again. A table that stays behind fails `every_table_keeps_up`.
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"tables_failing": len(self.failed), **({"failed": self._failures()} if self.failed else {})},
            ),
            *([] if self.merged is None else [_collapse_check(self.merged, asset)]),
            *([_routes_check(health, asset)] if health.routes else []),
            *([_datasets_check(health, asset)] if _with_signals(health) else []),
        ]


def _with_signals(health: Health) -> list[TableHealth]:
    """Return the tables that have completion signals."""
    return [table for table in health.tables if table.undecided is not None]


def _datasets_check(health: Health, asset: dg.AssetKey) -> dg.AssetCheckResult:
    late = [
        dg.TableRecord(
            {
                "table": table.name,
                "oldest": round(table.undecided_age),
                "limit": table.limit,
                "files": table.undecided or 0,
            }
        )
        for table in health.incomplete[:MAX_SHOWN]
    ]
    return check_result(
        asset_key=asset,
        check_name=DATASETS_CHECK,
        passed=not late,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "tables_incomplete": len(health.incomplete),
            **({"incomplete": dg.MetadataValue.table(late)} if late else {}),
        },
        description=sentence("look at `waiting_signals` on the pages of these tables") if late else None,
    )


def _collapse_check(merged: Mapping[str, Markdown], asset: dg.AssetKey) -> dg.AssetCheckResult:
    found = {table: why for table, why in sorted(merged.items()) if why}
    lines = [sentence("{}: {}", table, why) for table, why in found.items()][:MAX_SHOWN]
    if len(found) > MAX_SHOWN:
        lines.append(sentence("and {} more tables", len(found) - MAX_SHOWN))
    return check_result(
        asset_key=asset,
        check_name=COLLAPSE_CHECK,
        passed=not found,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"tables": len(found)},
        description=join_texts("; ", lines) or None,
    )


def _routes_check(health: Health, asset: dg.AssetKey) -> dg.AssetCheckResult:
    behind = [
        dg.TableRecord(
            {
                "route": route.name,
                "oldest": round(route.lag),
                "limit": route.limit or 0,
                "messages": route.messages,
            }
        )
        for route in health.routes_behind[:MAX_SHOWN]
    ]
    former = [route.name for route in health.routes_behind if route.limit is None]
    return check_result(
        asset_key=asset,
        check_name=ROUTES_CHECK,
        passed=not behind,
        metadata={
            "routes_behind": len(health.routes_behind),
            **({"behind": dg.MetadataValue.table(behind)} if behind else {}),
        },
        description=(
            sentence(
                "messages wait for {}, which lake.yaml does not have; add it again to send them", ", ".join(former)
            )
            if former
            else sentence("look at the check `delivered` of these routes, and at the sensor `forward`")
        )
        if behind
        else None,
    )


def keeps_up(table: TableHealth, page: dg.AssetKey) -> dg.AssetCheckResult:
    """Return the result of one table's check."""
    return check_result(
        asset_key=page,
        check_name=KEEPS_UP_CHECK,
        passed=not table.behind,
        metadata={**plotted_numbers(table), "limit_seconds": table.limit},
        description=sentence("look at the failed runs of its partition of bronze") if table.behind else None,
    )


def plotted_numbers(table: TableHealth) -> dict[str, int | float]:
    """Return the numbers of a table that the UI plots."""
    return {
        "pending_files": table.files,
        "pending_bytes": table.size,
        "oldest_seconds": round(table.lag, 1),
    }


def sparkline(values: Sequence[float], limit: float) -> str:
    """Return a bar for each value. The highest bar stands for the limit and every value above.

    Args:
        values: not negative, the oldest first.
        limit: above 0.
    """
    full = len(_BLOCKS) - 1
    return "".join(_BLOCKS[min(int(value / limit * full), full)] for value in values)


def _queue_row(queue: QueueHealth) -> str:
    dead = "–" if queue.dead is None else f"{queue.dead:,}"
    missed = " | ".join(f"{queue.missed.get(outcome, 0):,}" for outcome in ("no_table", "malformed"))
    return f"| {cell(queue.name, code)} | {queue.waiting:,} | {queue.in_flight:,} | {dead} | {missed} |"


def _route_row(route: RouteHealth) -> str:
    limit = "no route of lake.yaml" if route.limit is None else span(route.limit)
    cells = [
        f"{_BEHIND if route.behind else ''}{cell(route.name, code)}",
        NARROW.join([span(route.lag), "of", limit]) if route.messages else "",
        f"{route.messages:,}",
        f"{route.undeliverable:,}",
    ]
    return f"| {' | '.join(cells)} |"


def _dataset_row(table: TableHealth) -> str:
    cells = [
        f"{_BEHIND if table.incomplete else ''}{cell(table.name, code)}",
        NARROW.join([span(table.undecided_age), "of", span(table.limit)]),
        f"{table.undecided or 0:,}",
    ]
    return f"| {' | '.join(cells)} |"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
