"""`tidegate trace` shows where one object is on its way to its table."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.object_trace import StopAnswer, TraceAnswer
from tidegate.platform.cli.check.check import parse_address
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.failed_run import failed_run
from tidegate.platform.core.wording import one_line
from tidegate.platform.operations.object_trace import Trace, trace


def run_trace(console: Console, address: str, lake: Path | None, home: Path | None, *, as_json: bool = False) -> None:
    """Print the path of an object, one line for each stop, and its present state.

    Args:
        console: takes the output.
        address: `s3://bucket/key`.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        as_json: print only one JSON object.

    Raises:
        CommandError: the address is not valid, or Spark does not answer.
    """
    bucket, key = parse_address(address)
    using = client(home, lake)
    with using.opened() as opened:
        found, name = trace(opened, bucket, key), opened.config.lake.name or ""
    failed = failed_run(using.home, name, found.waits_for) if found.waits_for else None
    if as_json:
        print_answer(console, _answer(address, found, failed))
        return
    for stop in found.stops:
        at = stop.at.strftime("%Y-%m-%d %H:%M:%SZ") if stop.at else ""
        console.print(Text(f"{at:21}{stop.what:11}") + Text(one_line(stop.detail), style="dim"))
    console.print(Text(f"\n{one_line(found.verdict)}", style="bold"))
    if failed:
        console.print(Text(one_line(failed), style="red"))


def _answer(address: str, found: Trace, failed: str | None) -> TraceAnswer:
    stops = tuple(StopAnswer(at=stop.at, what=stop.what, detail=stop.detail) for stop in found.stops)
    return TraceAnswer(
        address=address, stops=stops, verdict=found.verdict, waits_for=found.waits_for, last_failure=failed
    )
