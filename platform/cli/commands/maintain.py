"""`tidegate maintain` maintains tables as their schedule does. Without --yes it prints what would be done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pyspark.errors import PySparkException
from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import MaintainAnswer, MaintainedTable, Unmaintained, refuse_to_apply
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.wording import first_line
from tidegate.platform.lake.lake import Lake
from tidegate.platform.maintenance.deletion import NOTHING
from tidegate.platform.maintenance.old_objects import maintain_objects
from tidegate.platform.maintenance.tables import MaintenanceResult, TableBusy, maintain_bronze, maintain_silver
from tidegate.platform.query.table_lookup import table_named

_SILVER = "silver."
_Work = Callable[..., list[MaintenanceResult]]


def run_maintain(
    console: Console, name: str | None, lake: Path | None, home: Path | None, *, yes: bool, as_json: bool = False
) -> None:
    """Maintain a table, or all tables and the objects of the lake. Without `yes`, print what would be done.

    Args:
        name: SQL name, key or `s3://` prefix of a table, with its silver table; `silver.<name>` for that alone. None
            for everything.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        yes: do it.
        as_json: print only what would be done, as one JSON object.

    Raises:
        CommandError: there is no such table, a table cannot be maintained, Spark does not answer, or `as_json` and
            `yes` are given together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)

    def say(line: str, style: str = "") -> None:
        if not as_json:
            console.print(Text(line, style=style))

    using = client(home, lake)
    done: list[MaintenanceResult] = []
    left_out: list[Unmaintained] = []
    with using.open_lake() as opened:
        for what, work in select_work(opened, name):
            try:
                done += work(dry_run=not yes, log=say)
            except TableBusy as busy:
                left_out.append(Unmaintained(table=what, busy=True, why=str(busy)))
                say(f"{what}: {busy}")
            except (PySparkException, ValueError) as error:
                opened.delta.check_session_alive()
                left_out.append(Unmaintained(table=what, busy=False, why=first_line(error)))
                say(f"{what} failed: {first_line(error)}", "red")
    if as_json:
        print_answer(console, MaintainAnswer(tables=tuple(map(_answer, done)), left_out=tuple(left_out)))
    freed = sum((found.freed for found in done), NOTHING)
    say(f"{freed} {'were' if yes else 'would be'} deleted", "bold")
    if not yes:
        say(f"\nNothing was changed. To do it: tidegate maintain {f'{name} ' if name else ''}--yes", "bold")
    if failed := sum(not each.busy for each in left_out):
        raise CommandError(f"{failed} tables could not be maintained: the reasons are above")


def _answer(found: MaintenanceResult) -> MaintainedTable:
    return MaintainedTable(
        table=found.name,
        merged=found.merged,
        checkpoint=found.checkpoint,
        files=found.freed.files,
        bytes=found.freed.size,
        source=found.source,
    )


def select_work(lake: Lake, name: str | None) -> Iterator[tuple[str, _Work]]:
    """Yield what a name selects, and the function that maintains it.

    Raises:
        CommandError: there is no such table.
    """
    merged = [spec.name for spec in lake.config.tables if spec.silver]
    if name is None:
        for table_key in sorted(lake.store.births.tables()):
            yield table_key, partial(maintain_bronze, lake, table_key)
        for silver in merged:
            yield f"{_SILVER}{silver}", partial(maintain_silver, lake, silver)
        yield "the lake", partial(maintain_objects, lake, time.time())
        return
    if name.startswith(_SILVER):
        silver = name.removeprefix(_SILVER)
        if silver not in merged:
            known = ", ".join(f"{_SILVER}{each}" for each in merged) or "none"
            raise CommandError(f"there is no silver table {name!r}: lake.yaml has {known}")
        yield name, partial(maintain_silver, lake, silver)
        return
    table_key = table_named(lake, name)
    yield table_key, partial(maintain_bronze, lake, table_key)
    spec = lake.config.table_for(TableKey.decode(table_key))
    if spec and spec.silver:
        yield f"{_SILVER}{spec.name}", partial(maintain_silver, lake, spec.name)
