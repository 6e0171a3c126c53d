"""`tidegate inventory cost` prints what the objects in the table of inventories cost a month."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from tidegate.platform.cli.commands.table_named import table_named
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.inventory.cost import DIMENSIONS, CostLine, cost_lines
from tidegate.platform.core.inventory.prices import GIGABYTE, StoragePrices
from tidegate.resources.inventory.sums import stored_sums
from tidegate.resources.lake import Lake


def run_cost(
    console: Console, lake: Lake, name: str, prices: Path, by: str, depth: int, configuration: str, limit: int
) -> None:
    """Print the lines of a report, the most expensive first, and the total.

    Args:
        console: takes the output.
        lake: the lake.
        name: SQL name, key or `s3://` prefix of the table of inventories.
        prices: the price list of AWS for S3 in the region of the buckets.
        by: dimensions of the report, separated by commas.
        depth: number of folders of the dimension `prefix`.
        configuration: only inventories of this configuration. Empty: all, if each bucket has one.
        limit: maximum number of lines.

    Raises:
        CommandError: the table, the price list or a dimension is not one.
    """
    dimensions = [one.strip() for one in by.split(",") if one.strip()]
    if not dimensions or (unknown := [one for one in dimensions if one not in DIMENSIONS]):
        given = unknown[0] if dimensions else by
        raise CommandError(f"{given!r} is no dimension of a report: give some of {', '.join(DIMENSIONS)}")
    known = _prices(prices)
    lines = cost_lines(stored_sums(_objects(lake, name, configuration), dimensions, depth), known)
    console.print(_table(lines[:limit], dimensions, known.currency))
    if len(lines) > limit:
        console.print(f"and {len(lines) - limit} more lines: --limit shows more")
    total, unpriced = sum(line.cost for line in lines), sum(line.unpriced for line in lines)
    console.print(f"total: {total:,.2f} {known.currency} a month, at the prices of {prices} from {known.effective}")
    if unpriced:
        console.print(
            f"WARNING: {unpriced / GIGABYTE:,.2f} GiB are of storage classes without a price, or of inventories "
            "without the field StorageClass, and not in the total"
        )


def _prices(path: Path) -> StoragePrices:
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return StoragePrices.from_price_list(lines, str(path))
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from None


def _objects(lake: Lake, name: str, configuration: str) -> DataFrame:
    table = lake.table(table_named(lake, name))
    if (
        not table.spec.has_inventories
        or table.birth is None
        or not table.delta.table_state(table.birth.location).exists
    ):
        raise CommandError(f"{name} has no inventories yet, or is no table with `mode: inventory`")
    rows = lake.delta.session.read.format("delta").load(table.birth.location)
    if configuration:
        return rows.where(F.col("configuration") == configuration)
    subjects = rows.select("bucket", "configuration").distinct()
    twice = subjects.groupBy("bucket").agg(F.sort_array(F.collect_list("configuration")).alias("names"))
    if found := twice.where(F.size("names") > 1).orderBy("bucket").limit(1).collect():
        raise CommandError(
            f"the bucket {found[0]['bucket']} has inventories of {' and '.join(found[0]['names'])}, and its objects "
            "would be counted twice: choose one with --configuration"
        )
    return rows


def _table(lines: Sequence[CostLine], dimensions: Sequence[str], currency: str) -> Table:
    table = Table()
    for name in dimensions:
        table.add_column(name)
    for name in ("objects", "GiB", f"{currency} a month"):
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(*line.group, f"{line.objects:,}", f"{line.size / GIGABYTE:,.3f}", f"{line.cost:,.4f}")
    return table
