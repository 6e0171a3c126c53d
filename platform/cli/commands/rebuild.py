"""`tidegate rebuild`: every file of a loaded table is read again; first it says what that would be."""

from __future__ import annotations

import getpass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.assets.operations.rebuild import Rebuild, RebuildRefused, look_at_rebuild, rebuild_table
from tidegate.platform.cli.commands.table_named import table_named
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.after_load import moves_to
from tidegate.resources.lake import Lake

_SHOWN = 20


def run_rebuild(console: Console, name: str, lake: Path | None, home: Path | None, *, yes: bool) -> None:
    """Say what a rebuild of a table would do, or ask for it.

    Args:
        console: where it is printed.
        name: the table: its SQL name, its key, or its ``s3://`` prefix.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else ``lake.yaml``.
        home: of a running local platform; None takes a running default one, else the environment.
        yes: do it.

    Raises:
        CommandError: there is no such table, it is refused, or Spark does not answer.
    """

    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style))

    using = client(home, lake)
    with using.reaching_spark(), using.settings.opened() as opened:
        text = table_named(opened, name)
        try:
            by = getpass.getuser()
            found = rebuild_table(opened, text, by=by, log=say) if yes else look_at_rebuild(opened, text)
        except RebuildRefused as refused:
            raise CommandError(str(refused)) from None
        for line in told(opened, found):
            say(line)
        if not yes:
            say(f"\nNothing was changed. To do it: tidegate rebuild {name} --yes", "bold")


def told(lake: Lake, found: Rebuild) -> list[str]:
    """What becomes of a table's files, its rows and silver, a line each."""
    name = f"bronze.{found.name}"
    lines = [
        f"{name} ({found.table.text}) is read again, as lake.yaml says today:",
        f"  files    {found.again} files that are in the table, {found.size} bytes with the others; the rows of each "
        "are replaced in the commit that has its new ones",
    ]
    if found.others:
        lines.append(
            f"  others   {found.others} files that are not in the table (quarantined, or not told of) are tried"
        )
    if found.table.spec.silver:
        lines.append(
            f"  silver   silver.{found.name} is merged from all of bronze after each commit that replaced rows"
        )
    if found.kept:
        keys = [one.key for one in found.kept]
        lines += [
            f"  KEPT     {found.kept_rows} rows stay as they are: S3 has their files no more, or with other bytes",
            *(f"             {key}" for key in keys[:_SHOWN]),
        ]
        if len(keys) > _SHOWN:
            lines.append(f"             and {len(keys) - _SHOWN} more")
        if folder := moves_to(found.table.spec.after_load):
            page = "docs/guides/after-load.md"
            lines.append(f"             after_load moved files to {folder}: {page} says how they come back")
    if found.waiting:
        lines.append(f"  before   {found.waiting} files of an earlier rebuild still wait; none of them is read twice")
    lines.append(
        f"  how far  SELECT _source_path, count(*) FROM {name} WHERE _batch <= {found.n} GROUP BY 1: not yet, or kept"
    )
    return lines
