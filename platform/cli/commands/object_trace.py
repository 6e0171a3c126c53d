"""`tidegate trace` shows where one object is on its way to its table."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.assets.operations.trace import trace
from tidegate.platform.cli.check.check import parse_address
from tidegate.platform.cli.commands.failed_run import failed_run
from tidegate.platform.cli.environment import client
from tidegate.platform.core.first_line import one_line


def run_trace(console: Console, address: str, lake: Path | None, home: Path | None) -> None:
    """Print the path of an object, one line for each stop, and its present state.

    Args:
        console: takes the output.
        address: `s3://bucket/key`.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.

    Raises:
        CommandError: the address is not valid, or Spark does not answer.
    """
    bucket, key = parse_address(address)
    using = client(home, lake)
    with using.reaching_spark(), using.settings.opened() as opened:
        found = trace(opened, bucket, key)
    for stop in found.stops:
        at = stop.at.strftime("%Y-%m-%d %H:%M:%SZ") if stop.at else ""
        console.print(Text(f"{at:21}{stop.what:11}") + Text(one_line(stop.detail), style="dim"))
    console.print(Text(f"\n{one_line(found.verdict)}", style="bold"))
    if found.waits_for and (failed := failed_run(using.home, found.waits_for)):
        console.print(Text(one_line(failed), style="red"))
