"""`tidegate inventory cost` prints what the objects in the table of inventories cost a month."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.inventory import CostAnswer, CostGroup, StaleBucket
from tidegate.platform.cli.environment import Client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.inventory.late_buckets import stale_inventories
from tidegate.platform.core.inventory.manifest import InventoryError
from tidegate.platform.core.storage.cost import DIMENSIONS, cost_lines
from tidegate.platform.core.storage.prices import GIGABYTE, StoragePrices
from tidegate.platform.inventory.costs.reads import Reads, reads_of
from tidegate.platform.inventory.stored_objects import folder_of, read_prices, stored_objects
from tidegate.platform.lake.inventory.objects import newest_creation_times
from tidegate.platform.lake.inventory.sums import stored_sums
from tidegate.platform.lake.lake import Lake
from tidegate.platform.query.table_lookup import table_named


@dataclass(frozen=True)
class CostQuestion:
    """What a report should be of.

    Attributes:
        table: SQL name, key or `s3://` prefix of the table of inventories.
        prices: the price lists of AWS for S3 in the region of the buckets.
        by: dimensions of the report, separated by commas.
        depth: number of folders of the dimension `prefix`.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.
        limit: maximum number of lines.
    """

    table: str
    prices: tuple[Path, ...]
    by: str = "bucket,storage_class"
    depth: int = 1
    configuration: str = ""
    limit: int = 50

    @property
    def dimensions(self) -> list[str]:
        """The dimensions.

        Raises:
            CommandError: one is none.
        """
        found = [name.strip() for name in self.by.split(",") if name.strip()]
        if not found or (unknown := [name for name in found if name not in DIMENSIONS]):
            given = unknown[0] if found else self.by
            raise CommandError(f"{given!r} is not a dimension of a report: give some of {', '.join(DIMENSIONS)}")
        return found


def run_cost(console: Console, lake: Lake, asked: CostQuestion, *, as_json: bool = False) -> None:
    """Print the lines of a report, the most expensive first, and the total.

    Args:
        asked: what the report should be of.
        as_json: print only one JSON object.

    Raises:
        CommandError: the table, the price list or a dimension is not one.
    """
    dimensions, prices = asked.dimensions, known_prices(asked.prices)
    objects = objects_of(lake, asked.table, asked.configuration)
    stale = stale_inventories(newest_creation_times(objects))
    try:
        lines = cost_lines(stored_sums(objects, dimensions, asked.depth), prices)
    except InventoryError as error:
        raise CommandError(str(error)) from None
    files = reads_of(lake, datetime.now(UTC), asked.depth) if Reads.knows(dimensions) else Reads()
    reads = files.reads_by(dimensions)
    answer = CostAnswer(
        by=tuple(dimensions),
        currency=prices.currency,
        prices_from=prices.effective,
        lines=tuple(
            CostGroup(
                group=dict(zip(dimensions, line.group, strict=True)),
                objects=line.objects,
                bytes=line.size,
                cost_a_month=line.cost,
                bytes_without_price=line.unpriced,
                reads=None if reads is None else reads[line.group],
            )
            for line in lines[: asked.limit]
        ),
        more=max(0, len(lines) - asked.limit),
        cost_a_month=sum(line.cost for line in lines),
        reads_unknown=files.unknown,
        bytes_without_price=sum(line.unpriced for line in lines),
        objects_without_fee=sum(line.without_fee for line in lines),
        stale=tuple(
            StaleBucket(
                bucket=stale_inventory.subject.bucket,
                configuration=stale_inventory.subject.configuration,
                inventory=stale_inventory.created,
            )
            for stale_inventory in stale
        ),
    )
    if as_json:
        print_answer(console, answer)
    else:
        _print(console, answer, asked.prices)
        for item in [*stale, *([files.unknown] if files.unknown else [])]:
            console.print(f"WARNING: {item}", markup=False)


def price_lists(given: Sequence[Path] | None, using: Client, lake: Lake, name: str) -> tuple[Path, ...]:
    """Return the price lists of a command, as `named_price_lists` does.

    Raises:
        CommandError: there are none, or the table does not exist.
    """
    if found := named_price_lists(given, using, lake, name):
        return found
    raise CommandError(
        "no price list is known: give AWS's list of your region with --prices, or name it in `storage_reports` of "
        f"{name} in lake.yaml. docs/guides/storage.md shows how to get it"
    )


def named_price_lists(given: Sequence[Path] | None, using: Client, lake: Lake, name: str) -> tuple[Path, ...]:
    """Return the given price lists, or those that `lake.yaml` names for the table, which may be none.

    Args:
        given: paths of the option `--prices`.
        using: the lake of the command.
        lake: the lake, opened.
        name: SQL name, key or `s3://` prefix of the table of inventories.

    Raises:
        CommandError: the table does not exist.
    """
    if given:
        return tuple(given)
    reports = lake.table(table_named(lake, name)).spec.storage_reports
    paths = reports.prices if reports else ()
    return tuple(folder_of(str(using.settings.lake_yaml)) / path for path in paths)


def known_prices(paths: Iterable[Path]) -> StoragePrices:
    """Return the prices of AWS's price lists, or raises CommandError."""
    try:
        return read_prices(paths)
    except ValueError as error:
        raise CommandError(str(error)) from None


def objects_of(lake: Lake, name: str, configuration: str) -> DataFrame:
    """Return the rows of a table of inventories, or raises CommandError.

    Args:
        name: SQL name, key or `s3://` prefix of the table.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.
    """
    try:
        return stored_objects(lake, table_named(lake, name), configuration)
    except InventoryError as error:
        raise explain_error(error) from None


def explain_error(error: InventoryError) -> CommandError:
    """Return the error of a command, with the option that helps."""
    hint = " with --configuration" if str(error).endswith("choose a configuration") else ""
    return CommandError(f"{error}{hint}")


def _print(console: Console, answer: CostAnswer, prices: Iterable[Path]) -> None:
    table = Table()
    for name in answer.by:
        table.add_column(name)
    with_reads = any(line.reads is not None for line in answer.lines)
    for name in ("objects", "GiB", f"{answer.currency} a month", *(["reads of 30 days"] if with_reads else [])):
        table.add_column(name, justify="right")
    for line in answer.lines:
        numbers = f"{line.objects:,}", f"{line.bytes / GIGABYTE:,.3f}", f"{line.cost_a_month:,.4f}"
        reads = [] if line.reads is None else [f"{line.reads:,}"]
        table.add_row(*(line.group[name] for name in answer.by), *numbers, *reads)
    console.print(table)
    if answer.more:
        console.print(f"and {answer.more} more lines: --limit shows more")
    names = ", ".join(map(str, prices))
    total = f"{answer.cost_a_month:,.2f} {answer.currency} a month"
    console.print(f"total: {total}, at the prices of {names} from {answer.prices_from}")
    if answer.bytes_without_price:
        console.print(
            f"WARNING: {answer.bytes_without_price / GIGABYTE:,.2f} GiB are of storage classes without a price, or of "
            "inventories without the field StorageClass, and not in the total. The prices of DEEP_ARCHIVE are in the "
            "list of AmazonS3GlacierDeepArchive: give both lists with --prices"
        )
    if answer.objects_without_fee:
        console.print(
            f"WARNING: the price list has no price, or several, of the monitoring of INTELLIGENT_TIERING "
            f"(Monitoring-Automation-INT). The fee of {answer.objects_without_fee:,} objects is not in the total"
        )
