"""`tidegate maintain` maintains tables as their schedule does. Without --yes it prints what would be done."""

from __future__ import annotations

from pathlib import Path

from pyspark.errors import PySparkException
from rich.console import Console
from rich.text import Text

from tidegate.assets.maintenance.tables import TableBusy
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.maintenance.selected import selected
from tidegate.platform.core.first_line import first_line
from tidegate.platform.core.maintenance.freed import NOTHING


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
        for what, work in selected(opened, name):
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
