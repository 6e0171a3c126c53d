"""`tidegate reset`: a table begins anew; first it says what becomes of everything."""

from __future__ import annotations

import getpass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.assets.operations.reset import Reset, ResetRefused, look_at_reset, reset_table
from tidegate.platform.cli.commands.table_named import table_named
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.resources.lake import Lake


def run_reset(
    console: Console, name: str, lake: Path | None, home: Path | None, *, yes: bool, accept_loss: bool
) -> None:
    """Say what a reset of a table would do, or do it.

    Args:
        console: where it is printed.
        name: the table: its SQL name, its key, or its ``s3://`` prefix.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else ``lake.yaml``.
        home: of a running local platform; None takes a running default one, else the environment.
        yes: do it.
        accept_loss: also where rows will not come back.

    Raises:
        CommandError: there is no such table, it is refused, or Spark does not answer.
    """
    using = client(home, lake)
    with using.reaching_spark(), using.settings.opened() as opened:
        text = table_named(opened, name)
        try:
            if yes:
                reset_table(
                    opened,
                    text,
                    by=getpass.getuser(),
                    accept_loss=accept_loss,
                    log=lambda line: console.print(Text(line)),
                )
            else:
                for line in told(opened, look_at_reset(opened, text)):
                    console.print(Text(line))
                console.print(Text(f"\nNothing was changed. To do it: tidegate reset {name} --yes", style="bold"))
        except ResetRefused as refused:
            hint = "" if accept_loss or "accept the loss" not in str(refused) else " (--accept-loss)"
            raise CommandError(f"{refused}{hint}") from None


def told(lake: Lake, found: Reset) -> list[str]:
    """What becomes of a table, its rows, its ledger and silver, a line each."""
    birth, text = found.birth, found.table.text
    ways = {True: "registered where its files lie", False: "loaded"}
    mode = ways[found.registered]
    if found.registered != birth.registered:
        mode += f" (until now: {ways[birth.registered]})"
    lines = [
        f"bronze.{birth.name} ({text}) would begin anew, {mode}:",
        f"  rows     {found.live_files} live files leave the table in one commit, no file is deleted; the versions "
        "before can be read until a VACUUM",
        f"  files    {found.objects} objects under {found.table.key.uri} are looked at again by the next run, "
        "quarantined ones too; none of them is touched",
        f"  ledger   {found.n} batches and {found.committed} committed objects ({found.rows} rows) stay readable at "
        f"{found.table.ledger.location}; the new one begins with batch 1",
        f"  columns  come from the first files and lake.yaml anew; the table stays at {found.location}",
    ]
    if found.renamed:
        lines.append(f"  NAME     {found.renamed}")
    if found.table.spec.silver:
        lines.append(f"  silver   silver.{birth.name} keeps its rows; its next merge takes the whole table anew")
    if found.lost:
        lines.append(
            f"  LOST     {found.lost_rows} rows of {len(found.lost)} objects that S3 has no more, or with other bytes, "
            f"do not come back: {', '.join(found.lost[:5])}{', …' if len(found.lost) > 5 else ''}"
        )
    return lines
