"""`tidegate inventory enable` gives source buckets the inventory configuration that `lake.yaml` says.

Without --yes it prints what would change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import EnableAnswer, EnabledSetting, refuse_to_apply
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cloud.arns import Address
from tidegate.platform.cloud.inventories import WantedInventories, differences
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.aws.bucket_inventories import BucketInventories
from tidegate.platform.lake.threads import parallel

#: Buckets of other regions that are named.
_MAX_NAMED = 5


@dataclass(frozen=True)
class _Change:
    """One configuration or policy that differs.

    Attributes:
        where: what it is of, for people.
        lines: the differences.
        write: writes what is wanted.
    """

    where: str
    lines: list[str]
    write: Callable[[], None]


@dataclass(frozen=True)
class InventoryDifferences:
    """What differs from `lake.yaml`.

    Attributes:
        changes: the policy first, which S3 needs before it accepts a configuration.
        refused: what could not be read, with S3's answer.
        buckets: number of buckets that were compared.
        elsewhere: buckets that patterns choose in other regions than that of the destination, where S3 delivers from.
        configured: buckets whose configuration is as it should be.
    """

    changes: list[_Change]
    refused: list[str]
    buckets: int
    elsewhere: tuple[str, ...] = ()
    configured: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """A line for each difference."""
        return [f"{change.where}: {line}" for change in self.changes for line in change.lines]


def run_enable(
    console: Console,
    config: LakeConfig,
    table: str,
    account: str,
    inventories: BucketInventories,
    *,
    yes: bool,
    as_json: bool = False,
) -> None:
    """Print what differs from `lake.yaml`, and write it.

    Buckets that S3 refuses do not keep the others from theirs. The policy is written first: without it, S3 refuses a
    configuration.

    Args:
        table: name of the table of inventories. Empty if there is one.
        account: AWS account of the buckets.
        inventories: reads and writes.
        yes: write. Without it, only the differences are printed.
        as_json: print only the differences, as one JSON object.

    Raises:
        CommandError: there is no such table, S3 refused something, or `as_json` and `yes` are given together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)
    found = compare_inventories(_table(config, table), account, inventories)
    if as_json:
        print_answer(console, _answer(found))
        failed = found.refused
    else:
        failed = _apply_differences(console, found, yes=yes)
    if failed:
        raise CommandError("\n".join(failed))


def _apply_differences(console: Console, found: InventoryDifferences, *, yes: bool) -> list[str]:
    """Print the differences, and write what is wanted if `yes`. Return what S3 refused."""
    changes, failed = found.changes, [*found.refused]
    for change in changes:
        console.print(Text(f"{change.where}:", style="bold"), *(f"\n  {line}" for line in change.lines), sep="")
    for change in changes if yes else ():
        try:
            change.write()
        except (BotoCoreError, ClientError) as error:
            failed.append(f"{change.where}: {first_line(error)}")
    if found.elsewhere:
        names = ", ".join(found.elsewhere[:_MAX_NAMED])
        console.print(
            f"left out, because S3 delivers inventories only within a region: {len(found.elsewhere)} buckets of other "
            f"regions ({names}{', …' if len(found.elsewhere) > _MAX_NAMED else ''})"
        )
    if not changes and not failed:
        console.print("nothing to do: policy and inventory configurations are as lake.yaml says")
    elif changes and not yes:
        console.print(f"{len(changes)} would change. With --yes they are written")
    elif changes:
        console.print("written. S3 delivers the first inventories within 48 hours")
    return failed


def _answer(found: InventoryDifferences) -> EnableAnswer:
    return EnableAnswer(
        buckets=found.buckets,
        changes=tuple(EnabledSetting(of=change.where, differences=tuple(change.lines)) for change in found.changes),
        refused=tuple(found.refused),
        elsewhere=found.elsewhere,
    )


def compare_inventories(spec: TableSpec, account: str, inventories: BucketInventories) -> InventoryDifferences:
    """Compare buckets and destination with what a table with `inventories` needs.

    Raises:
        CommandError: the destination's policy or the buckets cannot be read, or the policy would be too long.
    """
    assert spec.inventories is not None
    wanted = WantedInventories(spec.inventories, S3Address.parse(spec.prefix), Address(inventories.region, account))
    destination = wanted.destination.bucket
    try:
        present = inventories.policy(destination)
        policy = wanted.policy(present)
        regions = inventories.buckets() if wanted.spec.has_patterns else {}
        chosen = wanted.spec.select_buckets(regions)
    except (BotoCoreError, ClientError) as error:
        raise CommandError(f"{destination}: {first_line(error)}") from None
    except ValueError as error:
        raise CommandError(str(error)) from None
    changes, refused = [], []
    if lines := differences(present, policy):
        changes.append(_Change(f"policy of {destination}", lines, lambda: inventories.put_policy(destination, policy)))
    # The destination lists other buckets. An inventory of its own would list all inventories.
    home = regions.get(destination, "")
    elsewhere = [bucket for bucket in chosen if home and regions.get(bucket) not in (home, "", None)]
    sources = [bucket for bucket in chosen if bucket != destination and bucket not in elsewhere]
    for bucket in wanted.spec.names:
        if bucket in elsewhere:
            refused.append(
                f"{bucket} is in {regions[bucket]}, and S3 delivers inventories only within the region of "
                f"{destination}, {home}: give the inventories of each region a destination there"
            )
    found = list(parallel(lambda bucket: _change(wanted, inventories, bucket), sources))
    return InventoryDifferences(
        changes=[*changes, *(change for change in found if isinstance(change, _Change))],
        refused=[*refused, *(change for change in found if isinstance(change, str))],
        buckets=len(sources),
        elsewhere=tuple(bucket for bucket in elsewhere if bucket not in wanted.spec.names),
        configured=tuple(bucket for bucket, change in zip(sources, found, strict=True) if change is None),
    )


def _change(wanted: WantedInventories, inventories: BucketInventories, bucket: str) -> _Change | str | None:
    """Return what differs in a bucket, or why that is not known. None if nothing does."""
    where = f"inventory {wanted.spec.configuration} of {bucket}"
    try:
        present = inventories.configuration(bucket, wanted.spec.configuration)
    except (BotoCoreError, ClientError) as error:
        return f"{where}: {first_line(error)}"
    body = wanted.configuration(present)
    lines = differences(present, body)
    return _Change(where, lines, lambda: inventories.put_configuration(bucket, body)) if lines else None


def _table(config: LakeConfig, name: str) -> TableSpec:
    found = [spec for spec in config.tables if spec.inventories and name in ("", spec.name)]
    if len(found) == 1:
        return found[0]
    there = ", ".join(spec.name for spec in config.tables if spec.inventories)
    if there:
        raise CommandError(f"name one of the tables with `inventories`: {there}")
    raise CommandError("no table of lake.yaml has `mode: inventory` and `inventories`, with the buckets to configure")
