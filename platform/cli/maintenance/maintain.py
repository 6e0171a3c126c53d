"""`tidegate maintain` maintains tables as their schedule does. Without --yes it prints what would be done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pyspark.errors import PySparkException
from rich.console import Console
from rich.text import Text

from tidegate.assets.maintenance.old_objects import maintain_objects
from tidegate.assets.maintenance.tables import Maintained, TableBusy, maintain_bronze, maintain_silver
from tidegate.platform.cli.commands.table_named import table_named
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.maintenance.freed import NOTHING
from tidegate.resources.lake import Lake

_SILVER = "silver."
_Work = Callable[..., list[Maintained]]


def run_maintain(console: Console, name: str | None, lake: Path | None, home: Path | None, *, yes: bool) -> None:
    """Maintain a table, or all tables and the objects of the lake. Without `yes`, print what would be done.

    Args:
        console: takes the output.
        name: SQL name, key or `s3://` prefix of a table, with its silver table; `silver.<name>` for that alone. None
            for everything.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        yes: do it.

    Raises:
        CommandError: there is no such table, a table cannot be maintained, or Spark does not answer.
    """

    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style))

    using = client(home, lake)
    with using.reaching_spark(), using.settings.opened() as opened:
        freed, failed = NOTHING, 0
        for what, work in _works(opened, name):
            try:
                freed = sum((found.freed for found in work(dry_run=not yes, log=say)), freed)
            except TableBusy as busy:
                say(f"{what}: {busy}")
            except (PySparkException, ValueError) as error:
                opened.delta.check_session_alive()
                say(f"{what} failed: {first_line(error)}", "red")
                failed += 1
    say(f"{freed} {'were' if yes else 'would be'} deleted", "bold")
    if not yes:
        say(f"\nNothing was changed. To do it: tidegate maintain {f'{name} ' if name else ''}--yes", "bold")
    if failed:
        raise CommandError(f"{failed} tables could not be maintained: the reasons are above")


def _works(lake: Lake, name: str | None) -> Iterator[tuple[str, _Work]]:
    """Yield what is maintained, and the function that does it."""
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
