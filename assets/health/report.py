"""What a lake's health shows in Dagster: a page for people, numbers that the UI plots, and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from tidegate.assets.runs.failed_runs import FailedRun
from tidegate.platform.core.first_line import one_line
from tidegate.platform.core.health.measurement import Health, QueueHealth, TableHealth

KEEPS_UP_CHECK = "keeps_up"
ALL_KEEP_UP_CHECK = "every_table_keeps_up"
DEAD_LETTERS_CHECK = "no_dead_letters"
MEASURED_CHECK = "everything_is_measured"
RUNS_CHECK = "no_table_s_runs_fail"
DESCRIPTIONS = {
    ALL_KEEP_UP_CHECK: "No event waits for a table for longer than its window and max_lag.",
    DEAD_LETTERS_CHECK: "No message went to a dead-letter queue.",
    MEASURED_CHECK: "Inbox and queues answered, and the metrics were published.",
    RUNS_CHECK: "The last run of every table, and the last merge of every silver table, did not fail.",
}
#: Tables that the page shows, the most urgent ones; and failed runs.
MOST_SHOWN = 30
#: Earlier measurements of which it shows a table's lag.
MOST_EARLIER = 11
#: A blank at which no line is broken: the UI gives the page a narrow column.
_NARROW = "\u202f"
_BEHIND = f"⚠{_NARROW}"
_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Shown:
    """A measurement, and what is shown beside it.

    Attributes:
        earlier: lags in seconds by table name, of the measurements before, the oldest first.
        commits: epoch seconds of the last commit, by table key, of the tables that are shown.
        failed: the last runs of tables whose last run failed, by table key, or ``silver.<name>``.
    """

    health: Health
    earlier: Sequence[Mapping[str, float]] = ()
    commits: Mapping[str, float | None] = field(default_factory=dict)
    failed: Mapping[str, FailedRun] = field(default_factory=dict)

    def metadata(self) -> dict[str, Any]:
        """Metadata of the materialization: the page, and numbers over time."""
        health = self.health
        return {
            "the_morning": dg.MetadataValue.md(self.page()),
            "pending_files": health.files,
            "pending_bytes": health.size,
            "oldest_seconds": round(health.lag, 1),
            "tables": len(health.tables),
            "tables_behind": len(health.behind),
            "tables_failing": len(self.failed),
            "in_queues": sum(one.waiting for one in health.queues),
            "in_flight": sum(one.in_flight for one in health.queues),
            "dead_letters": health.dead,
            "without_table": sum(sum(one.missed.values()) for one in health.queues),
            "quarantined": sum(health.quarantined.values()),
            "lags": {one.name: round(one.lag) for one in health.tables[:MOST_SHOWN] if one.files},
        }

    def page(self) -> str:
        """The page, in Markdown."""
        health = self.health
        verdict = (
            f"{len(health.behind)} of {len(health.tables)} tables behind" if health.behind else "no table is behind"
        )
        lines = [
            f"**{_moment(health.at)} UTC: {verdict}{self._failing()}.** {health.files:,} files "
            f"({_bytes(health.size)}) wait" + (f", the oldest for {_span(health.lag)}." if health.files else "."),
            *(f"\n**Not known:** {one}" for one in health.unknown),
            *(f"\n**Fails:** {one}" for one in self._failures()),
            "",
            "| table | oldest | files | bytes | commit | bad | last hour |",
            "|---|--:|--:|--:|--:|--:|---|",
            *(self._row(one) for one in health.tables[:MOST_SHOWN]),
        ]
        if (rest := len(health.tables) - MOST_SHOWN) > 0:
            lines.append(f"\nand {rest} more tables, less urgent than these")
        lines += [
            "",
            "| queue | waiting | in flight | dead | no table, today | malformed, today |",
            "|---|--:|--:|--:|--:|--:|",
            *map(_queue_row, health.queues),
        ]
        return "\n".join(lines)

    def _row(self, table: TableHealth) -> str:
        lags = [*(before.get(table.name, 0.0) for before in self.earlier), table.lag]
        cells = [
            f"{_BEHIND if table.behind else ''}`{table.name}`",
            _NARROW.join([_span(table.lag), "of", _span(table.limit)]) if table.files else "",
            f"{table.files:,}{'' if table.whole else '+'}",
            _bytes(table.size) if table.files else "",
            self._commit(table),
            f"{self.health.quarantined[table.key]:,}" if table.key in self.health.quarantined else "",
            sparkline(lags, table.limit) if any(lags) else "",
        ]
        return f"| {' | '.join(cells)} |"

    def _commit(self, table: TableHealth) -> str:
        at = self.commits.get(table.key)
        return _span(self.health.at - at) + _NARROW + "ago" if at else ""

    def _failing(self) -> str:
        number = len(self.failed)
        return f", the last run of {number} {'table' if number == 1 else 'tables'} failed" if number else ""

    def _failures(self) -> list[str]:
        """Which last runs failed and why, a line each."""
        names = {one.key: one.name for one in self.health.tables}
        told = [f"`{names.get(table, table)}` {failed}" for table, failed in self.failed.items()]
        more = len(told) - MOST_SHOWN
        return [one_line(line) for line in told[:MOST_SHOWN]] + ([f"and {more} more tables"] if more > 0 else [])

    def checks(self, asset: dg.AssetKey) -> list[dg.AssetCheckResult]:
        """The results of the lake's checks."""
        health = self.health
        behind = [
            dg.TableRecord({"table": one.name, "oldest": round(one.lag), "limit": one.limit, "files": one.files})
            for one in health.behind[:MOST_SHOWN]
        ]
        dead = {one.name: one.dead for one in health.queues if one.dead}
        return [
            dg.AssetCheckResult(
                asset_key=asset,
                check_name=ALL_KEEP_UP_CHECK,
                passed=not health.behind,
                metadata={
                    "tables_behind": len(health.behind),
                    **({"behind": dg.MetadataValue.table(behind)} if behind else {}),
                },
                description="look at the failed runs of their partitions of bronze" if behind else None,
            ),
            dg.AssetCheckResult(
                asset_key=asset,
                check_name=DEAD_LETTERS_CHECK,
                passed=not dead,
                metadata={"dead_letters": health.dead, **({"queues": dead} if dead else {})},
                description="mend the cause, then: tidegate redrive --dlq" if dead else None,
            ),
            dg.AssetCheckResult(
                asset_key=asset,
                check_name=MEASURED_CHECK,
                passed=not health.unknown,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"unknown": list(health.unknown)},
            ),
            dg.AssetCheckResult(
                asset_key=asset,
                check_name=RUNS_CHECK,
                passed=not self.failed,
                # One that fails once is tried again; a table that stays behind fails `every_table_keeps_up`.
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"tables_failing": len(self.failed), **({"failed": self._failures()} if self.failed else {})},
            ),
        ]


def keeps_up(table: TableHealth, page: dg.AssetKey) -> dg.AssetCheckResult:
    """The result of one table's check."""
    return dg.AssetCheckResult(
        asset_key=page,
        check_name=KEEPS_UP_CHECK,
        passed=not table.behind,
        metadata={**numbers(table), "limit_seconds": table.limit},
        description="look at the failed runs of its partition of bronze" if table.behind else None,
    )


def numbers(table: TableHealth) -> dict[str, int | float]:
    """What the UI plots of a table."""
    return {
        "pending_files": table.files,
        "pending_bytes": table.size,
        "oldest_seconds": round(table.lag, 1),
    }


def sparkline(values: Sequence[float], limit: float) -> str:
    """Values as blocks; a full one is at the limit, or beyond.

    Args:
        values: the oldest first; none is negative.
        limit: above 0.
    """
    full = len(_BLOCKS) - 1
    return "".join(_BLOCKS[min(int(value / limit * full), full)] for value in values)


def _queue_row(queue: QueueHealth) -> str:
    dead = "–" if queue.dead is None else f"{queue.dead:,}"
    missed = " | ".join(f"{queue.missed.get(outcome, 0):,}" for outcome in ("no_table", "malformed"))
    return f"| `{queue.name}` | {queue.waiting:,} | {queue.in_flight:,} | {dead} | {missed} |"


def _bytes(size: int) -> str:
    value, units = float(size), iter(("B", "kB", "MB", "GB", "TB", "PB"))
    unit = next(units)
    while value >= 1000 and unit != "PB":
        value, unit = value / 1000, next(units)
    return f"{value:.3g}{_NARROW}{unit}" if value < 1000 else f"{value:,.0f}{_NARROW}{unit}"


def _span(seconds: float) -> str:
    """As short as a person would say it: ``2d 3h``, ``2h 5m``, ``4m``, ``5s``."""
    left = max(0, int(seconds))
    if left < 3600:
        return f"{left // 60}m" if left >= 60 else f"{left}s"
    (unit, length), (lesser, part) = (("d", 86400), ("h", 3600)) if left >= 86400 else (("h", 3600), ("m", 60))
    rest = left % length // part
    return f"{left // length}{unit}" + (f"{_NARROW}{rest}{lesser}" if rest else "")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
