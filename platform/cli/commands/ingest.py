"""`tidegate ingest` ingests the objects that a list names. Without --yes it prints which tables they belong to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import IngestAnswer, ListedWithoutTable, refuse_to_apply
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.wording import one_line
from tidegate.platform.lake.aws.clients import caller
from tidegate.platform.operations.ingest import IngestRequest, ListedObjects, ingest, read_list

_SHOWN = 20
#: More than an address has, even if each of its 1,024 bytes were a quote that CSV doubles.
_MAX_LINE_BYTES = 4096


def run_ingest(
    console: Console,
    keys: Path,
    lake: Path | None,
    home: Path | None,
    *,
    after_line: int,
    rate: int,
    yes: bool,
    as_json: bool = False,
) -> None:
    """Print what the objects of a list would become, or ingest them.

    Args:
        keys: the list, with `s3://bucket/key` on each line; `-` is standard input.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        after_line: lines up to this one were ingested before.
        rate: objects per second.
        yes: ingest them; without it, nothing is changed.
        as_json: print only what would be ingested, as one JSON object.

    Raises:
        CommandError: the list cannot be read, a line names no object, or `as_json` and `yes` are given together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)

    def say(line: str, style: str = "") -> None:
        console.print(Text(line, style=style))

    name = "standard input" if str(keys) == "-" else str(keys)
    using = client(home, lake)
    request = IngestRequest(caller(using.settings.aws), name, after_line, rate, say)
    try:
        with using.open_lake() as opened, _open_lines(keys) as lines:
            found = (ingest if yes else read_list)(opened, lines, request)
    except DataError as refused:
        raise CommandError(str(refused)) from None
    if as_json:
        print_answer(console, listed_answer(found))
        return
    for line in listed_lines(found):
        say(line)
    if not yes and found.objects:
        say("\nNothing was changed. To do it, repeat the command with --yes", "bold")


@contextmanager
def _open_lines(keys: Path) -> Iterator[Iterable[bytes]]:
    """Open a list for its lines. A longer line than any address has ends where it cannot be one."""

    def lines_of(file: BinaryIO) -> Iterable[bytes]:
        return iter(lambda: file.readline(_MAX_LINE_BYTES), b"")

    if str(keys) == "-":
        yield lines_of(sys.stdin.buffer)
        return
    try:
        file = keys.open("rb")
    except OSError as error:
        raise CommandError(f"{keys} cannot be read: {error.strerror or error}") from None
    with file:
        yield lines_of(file)


def listed_answer(found: ListedObjects) -> IngestAnswer:
    """Return what the objects of a list would become, for programs."""
    return IngestAnswer(
        lines=found.lines,
        tables=found.tables,
        new_tables=tuple(sorted(found.new)),
        without_table=tuple(
            ListedWithoutTable(why=why, objects=without.objects, first=without.first)
            for why, without in found.without_table.items()
        ),
    )


def listed_lines(found: ListedObjects) -> list[str]:
    """Return how many objects belong to which table, and why others belong to none, one line each."""
    lines = [f"{found.objects} objects of {len(found.tables)} tables:"]
    by_size = sorted(found.tables.items(), key=lambda item: -item[1])
    lines += [f"  {count} of {key}{', a new table' if key in found.new else ''}" for key, count in by_size[:_SHOWN]]
    if len(by_size) > _SHOWN:
        lines.append(f"  and {sum(count for _, count in by_size[_SHOWN:])} of {len(by_size) - _SHOWN} other tables")
    left_out = sorted(found.without_table.items(), key=lambda item: -item[1].objects)
    if left_out:
        lines.append(f"{sum(without.objects for _, without in left_out)} objects of no table, which are left out:")
    lines += [
        f"  {without.objects}, the first {one_line(without.first)}: {one_line(why)}"
        for why, without in left_out[:_SHOWN]
    ]
    if len(left_out) > _SHOWN:
        lines.append(f"  and {sum(without.objects for _, without in left_out[_SHOWN:])} for other reasons")
    return lines
