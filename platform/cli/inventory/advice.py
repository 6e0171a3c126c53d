"""`tidegate inventory advice` prints which objects would cost less in another storage class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.inventory import AdviceAnswer, AdvisedTransition
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.inventory.cost import known_prices, objects_of
from tidegate.platform.core.storage.advice import (
    IMMEDIATE_CLASSES,
    OF,
    TARGETS,
    advice_for,
    describe_missing_prices,
    without_price,
)
from tidegate.platform.inventory.stored_objects import sums_of_all
from tidegate.platform.lake.inventory.sums import with_ends
from tidegate.platform.lake.lake import Lake


@dataclass(frozen=True)
class AdviceQuestion:
    """What advice is asked for.

    Attributes:
        table: SQL name, key or `s3://` prefix of the table of inventories.
        prices: the price lists of AWS for S3 in the region of the buckets.
        months: for which the objects stay and are not read.
        to: storage classes, separated by commas.
        depth: number of folders of a prefix.
        configuration: the one that counts where a bucket has several. Empty: no bucket may have several.
        limit: maximum number of lines.
    """

    table: str
    prices: tuple[Path, ...]
    months: int = 12
    to: str = ",".join(IMMEDIATE_CLASSES)
    depth: int = 1
    configuration: str = ""
    limit: int = 50

    @property
    def targets(self) -> Sequence[str]:
        """The storage classes.

        Raises:
            CommandError: one is none.
        """
        found = [name.strip() for name in self.to.split(",") if name.strip()]
        if not found or (unknown := [name for name in found if name not in TARGETS]):
            given = unknown[0] if found else self.to
            raise CommandError(f"unsupported storage class {given!r}: give some of {', '.join(TARGETS)}")
        return found


def run_advice(console: Console, lake: Lake, asked: AdviceQuestion, *, as_json: bool = False) -> None:
    """Print which transitions save more than they cost, the largest saving first.

    Args:
        asked: what advice is asked for.
        as_json: print only one JSON object.

    Raises:
        CommandError: the table, the price list or a class is not one.
    """
    targets, prices = asked.targets, known_prices(asked.prices)
    objects = with_ends(objects_of(lake, asked.table, asked.configuration), asked.months)
    sums, _ = sums_of_all(objects, OF, asked.depth)
    found = advice_for(sums, prices, asked.months, targets)
    answer = AdviceAnswer(
        currency=prices.currency,
        prices_from=prices.effective,
        months=asked.months,
        transitions=tuple(
            AdvisedTransition(
                bucket=advice.bucket,
                prefix=advice.prefix,
                storage_class=advice.storage_class,
                days=advice.days,
                size=advice.size,
                version=advice.version,
                rule=advice.rule,
                to=advice.to,
                objects=advice.objects,
                bytes=advice.bytes,
                cost_once=advice.once,
                saving_a_month=advice.saving,
                break_even_months=advice.break_even,
                minimum_months=advice.stay,
                net_saving=advice.net,
                readable_a_month=advice.readable,
            )
            for advice in found[: asked.limit]
        ),
        more=max(0, len(found) - asked.limit),
        net_saving=sum(advice.net for advice in found),
        without_price=tuple(without_price(sums, prices, targets)),
    )
    if as_json:
        print_answer(console, answer)
    else:
        print_advice(console, answer)


def print_advice(console: Console, answer: AdviceAnswer) -> None:
    """Print advice for people. What is not known for lack of a price is a warning."""
    if answer.transitions:
        _print(console, answer)
    elif not answer.without_price:
        console.print(f"no transition saves more than it costs within {answer.months} months")
    if answer.without_price:
        console.print(f"WARNING: {describe_missing_prices(answer.without_price)}")


def _print(console: Console, answer: AdviceAnswer) -> None:
    table = Table()
    for name in ("objects of", "transition", "which"):
        table.add_column(name, overflow="fold")
    for name in ("objects", f"{answer.currency} once", f"{answer.currency} a month", "break-even", "readable"):
        table.add_column(name, justify="right")
    for transition in answer.transitions:
        readable = "any" if transition.readable_a_month is None else f"{min(transition.readable_a_month, 99):.0%}"
        table.add_row(
            f"{transition.bucket}/{transition.prefix}",
            f"{transition.storage_class} → {transition.to}",
            f"{transition.version}, after {transition.days} days, {transition.size}",
            f"{transition.objects:,}",
            f"{transition.cost_once:,.4f}",
            f"{transition.saving_a_month:,.4f}",
            f"{transition.break_even_months} months",
            readable,
        )
    console.print(table)
    if answer.more:
        console.print(f"and {answer.more} more lines: --limit shows more")
    console.print(
        f"saved in {answer.months} months: {answer.net_saving:,.2f} {answer.currency}, after what transitions cost, "
        "if the objects stay and are not read; `readable` is the part of the bytes that may be read each month"
    )
