"""`tidegate inventory forecast` prints how the objects of each bucket grow, and what they will be."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.inventory import ForecastAnswer, ForecastBucket
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.cost import explain_error
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.forecast import MONTH, Forecast
from tidegate.platform.core.storage.growth import Growth
from tidegate.platform.core.storage.prices import GIGABYTE
from tidegate.platform.inventory.growth import growth_of
from tidegate.platform.lake.lake import Lake
from tidegate.platform.query.table_lookup import table_named


def run_forecast(
    console: Console, lake: Lake, name: str, months: int, configuration: str, limit: int, *, as_json: bool = False
) -> None:
    """Print the growth of all buckets together and of each bucket, the one with the most bytes first.

    Args:
        name: SQL name, key or `s3://` prefix of the table of inventories.
        months: of 30 days, to forecast.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.
        limit: maximum number of lines.
        as_json: print only one JSON object.

    Raises:
        CommandError: it is not such a table, or has a bucket twice.
    """
    try:
        found = growth_of(lake, table_named(lake, name), months, configuration)
    except InventoryError as error:
        raise explain_error(error) from None
    except ValueError as error:
        raise CommandError(str(error)) from None
    answer = ForecastAnswer(
        buckets=tuple(map(_bucket, found.lines[:limit])),
        more=max(0, len(found.lines) - limit),
        known_from=found.known_from.isoformat() if found.known_from else None,
    )
    if as_json:
        print_answer(console, answer)
    else:
        _print(console, answer)
        if found.lost:
            console.print(f"WARNING: {found.lost}")


def _bucket(line: Growth) -> ForecastBucket:
    found = line.bytes
    return ForecastBucket(
        bucket=line.bucket,
        first_day=line.first.isoformat(),
        days=len(line.history),
        bytes=int(line.history[-1]),
        objects=line.objects,
        method=found.method,
        error=found.error,
        naive_error=found.naive_error,
        tested_days=found.tested_days,
        remark=found.remark,
        bytes_ahead=_group_by_month(found),
        objects_ahead=_group_by_month(line.objects_ahead),
    )


def _group_by_month(found: Forecast) -> tuple[int, ...]:
    return tuple(round(value) for value in found.values[MONTH - 1 :: MONTH])


def _print(console: Console, answer: ForecastAnswer) -> None:
    table = Table()
    table.add_column("bucket")
    for name in ("days", "GiB", "after each month", "error", "of last value", "over"):
        table.add_column(name, justify="right")
    table.add_column("")
    for forecast_bucket in answer.buckets:
        ahead = ", ".join(f"{size / GIGABYTE:,.3f}" for size in forecast_bucket.bytes_ahead)
        unknown = "unknown" if forecast_bucket.tested_days else ""
        errors = (
            unknown if error is None else f"{error:.1%}"
            for error in (forecast_bucket.error, forecast_bucket.naive_error)
        )
        over = f"{forecast_bucket.tested_days} days" if forecast_bucket.tested_days else ""
        remark = "; ".join(
            filter(None, [f"by {forecast_bucket.method}" if forecast_bucket.method else "", forecast_bucket.remark])
        )
        table.add_row(
            forecast_bucket.bucket,
            str(forecast_bucket.days),
            f"{forecast_bucket.bytes / GIGABYTE:,.3f}",
            ahead,
            *errors,
            over,
            remark,
        )
    console.print(table)
    if answer.more:
        console.print(f"and {answer.more} more lines: --limit shows more")
