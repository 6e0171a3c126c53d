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
    no_advice_for,
    without_price,
)
from tidegate.platform.inventory.stored import sums_of_all
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
        found = [one.strip() for one in self.to.split(",") if one.strip()]
        if not found or (unknown := [one for one in found if one not in TARGETS]):
            given = unknown[0] if found else self.to
            raise CommandError(f"{given!r} is no class that advice can be for: give some of {', '.join(TARGETS)}")
        return found


def run_advice(console: Console, lake: Lake, asked: AdviceQuestion, *, as_json: bool = False) -> None:
    """Print which transitions save more than they cost, the largest saving first.

    Args:
        console: takes the output.
        lake: the lake.
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
                bucket=one.bucket,
                prefix=one.prefix,
                storage_class=one.storage_class,
                days=one.days,
                size=one.size,
                version=one.version,
                rule=one.rule,
                to=one.to,
                objects=one.objects,
                bytes=one.bytes,
                cost_once=one.once,
                saving_a_month=one.saving,
                break_even_months=one.break_even,
                minimum_months=one.stay,
                net_saving=one.net,
                readable_a_month=one.readable,
            )
            for one in found[: asked.limit]
        ),
        more=max(0, len(found) - asked.limit),
        net_saving=sum(one.net for one in found),
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
        console.print(f"WARNING: {no_advice_for(answer.without_price)}")


def _print(console: Console, answer: AdviceAnswer) -> None:
    table = Table()
    for name in ("objects of", "transition", "which"):
        table.add_column(name, overflow="fold")
    for name in ("objects", f"{answer.currency} once", f"{answer.currency} a month", "break-even", "readable"):
        table.add_column(name, justify="right")
    for one in answer.transitions:
        readable = "any" if one.readable_a_month is None else f"{min(one.readable_a_month, 99):.0%}"
        table.add_row(
            f"{one.bucket}/{one.prefix}",
            f"{one.storage_class} → {one.to}",
            f"{one.version}, after {one.days} days, {one.size}",
            f"{one.objects:,}",
            f"{one.cost_once:,.4f}",
            f"{one.saving_a_month:,.4f}",
            f"{one.break_even_months} months",
            readable,
        )
    console.print(table)
    if answer.more:
        console.print(f"and {answer.more} more lines: --limit shows more")
    console.print(
        f"saved in {answer.months} months: {answer.net_saving:,.2f} {answer.currency}, after what transitions cost, "
        "if the objects stay and are not read; `readable` is the part of the bytes that may be read each month"
    )
