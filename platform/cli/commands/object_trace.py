"""`tidegate trace` shows where one object is on its way to its table."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import Answer, print_answer
from tidegate.platform.cli.check.check import parse_address
from tidegate.platform.cli.dagster_storage import failed_run
from tidegate.platform.cli.environment import client
from tidegate.platform.core.wording import one_line
from tidegate.platform.operations.object_trace import Trace, trace


def run_trace(console: Console, address: str, lake: Path | None, home: Path | None, *, as_json: bool = False) -> None:
    """Print the path of an object, one line for each stop, and its present state.

    Args:
        address: `s3://bucket/key`.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        as_json: print only one JSON object.

    Raises:
        CommandError: the address is not valid, or Spark does not answer.
    """
    bucket, key = parse_address(address)
    using = client(home, lake)
    with using.open_lake() as opened:
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


class StopAnswer(Answer):
    """A stop on an object's way."""

    at: datetime | None
    """Time of the stop, if it is known."""
    what: str
    """The place, in a word or two."""
    detail: str
    """What is recorded there."""


class TraceAnswer(Answer):
    """The way of an object to its table."""

    address: str
    """The object, as `s3://bucket/key`."""
    stops: tuple[StopAnswer, ...]
    """The stops, in their order."""
    verdict: str
    """Whether the table has the object's present bytes, and what to do if it does not."""
    waits_for: str | None
    """Key of the table whose next run decides the object. null if the object does not wait."""
    last_failure: str | None
    """When and why the last run of that table failed. null if it did not, or if no storage of Dagster is known."""
