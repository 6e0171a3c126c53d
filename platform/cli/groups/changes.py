"""Commands that change tables. Each prints its plan first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.options import ApplyChange, LakeFile, PlanAsJson, RunningHome, table_names
from tidegate.platform.cli.terminal import command_console

changes = typer.Typer()


@changes.command()
def reset(
    table: Annotated[
        str, typer.Argument(help="SQL name, key or s3:// prefix of the table.", autocompletion=table_names)
    ],
    yes: ApplyChange = False,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Reset even if S3 no longer has the objects of some rows.")
    ] = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Start a table over from the files under its prefix, after a wrong first load or a batch that can never commit."""
    from tidegate.platform.cli.commands.reset import run_reset

    run_reset(command_console(), table, lake, home, yes=yes, accept_loss=accept_loss, as_json=as_json)


@changes.command()
def adopt(
    table: Annotated[
        str, typer.Argument(help="SQL name, key or s3:// prefix of the table.", autocompletion=table_names)
    ],
    yes: ApplyChange = False,
    enter: Annotated[
        bool, typer.Option("--enter", help="Let objects enter that the table's log does not name.")
    ] = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Take over a Delta table that oxbow, delta-rs or Spark made below the table's prefix. No file is read twice."""
    from tidegate.platform.cli.commands.adopt import run_adopt

    run_adopt(command_console(), table, lake, home, yes=yes, enter=enter, as_json=as_json)


@changes.command()
def rebuild(
    table: Annotated[
        str,
        typer.Argument(
            help="SQL name, key or s3:// prefix of the table; or silver.<name>.", autocompletion=table_names
        ),
    ],
    from_batch: Annotated[
        int | None, typer.Option(help="Of silver.<name>, compute only keys with a row of this batch or later.")
    ] = None,
    yes: ApplyChange = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Read a loaded table's files, or compute silver.<name>, again by today's lake.yaml. Readers never see it empty."""
    from tidegate.platform.cli.commands.rebuild import run_rebuild

    run_rebuild(command_console(), table, lake, home, yes=yes, since=from_batch, as_json=as_json)


@changes.command()
def ingest(
    keys: Annotated[
        Path, typer.Argument(help="A file that names one object on each line, s3://bucket/key; - is standard input.")
    ],
    after_line: Annotated[int, typer.Option(min=0, help="Lines up to this one were ingested before.")] = 0,
    rate: Annotated[int, typer.Option(min=1, help="Objects per second.")] = 500,
    yes: ApplyChange = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Ingest the objects that a list names, after all new files of their tables. No event or listing is needed."""
    from tidegate.platform.cli.commands.ingest import run_ingest

    run_ingest(command_console(), keys, lake, home, after_line=after_line, rate=rate, yes=yes, as_json=as_json)


@changes.command()
def redrive(
    table: Annotated[
        str | None,
        typer.Argument(help="SQL name, key or s3:// prefix; default: every table.", autocompletion=table_names),
    ] = None,
    messages: Annotated[
        bool, typer.Option("--messages", help="Redrive messages that could not be parsed, instead of objects.")
    ] = False,
    dlq: Annotated[
        bool,
        typer.Option(
            "--dlq", help="Redrive messages of dead-letter queues, instead of objects. The argument is a queue."
        ),
    ] = False,
    route: Annotated[
        str | None, typer.Option(help="Redrive messages that the destination of this route did not take.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Only entries whose reason contains this text.")] = "",
    key: Annotated[str, typer.Option(help="Glob over object keys, or over event ids of messages.")] = "*",
    since: Annotated[
        str, typer.Option(help="Quarantined at or after this ISO 8601 time; with --dlq, the time of the event.")
    ] = "",
    until: Annotated[
        str, typer.Option(help="Quarantined before this ISO 8601 time; with --dlq, the time of the event.")
    ] = "",
    rate: Annotated[int, typer.Option(min=1, help="Objects or messages per second.")] = 500,
    yes: ApplyChange = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Retry quarantined objects or messages, or dead letters, after you have fixed the cause."""
    from tidegate.platform.cli.commands.redrive import Kind, build_choice, run_redrive

    if sum((dlq, messages, route is not None)) > 1:
        raise CommandError("--messages, --dlq and --route exclude each other: give one of them")
    if route is not None and table is not None:
        raise CommandError("--route redrives messages of a route, not of a table: leave the argument out")
    flags = {Kind.ROUTE: route is not None, Kind.DEAD_LETTERS: dlq, Kind.MESSAGES: messages}
    kind = next((kind for kind, given in flags.items() if given), Kind.OBJECTS)
    choice = build_choice(reason, key, since, until)
    run_redrive(command_console(), kind, route or table, choice, lake, home, rate=rate, yes=yes, as_json=as_json)


@changes.command()
def maintain(
    table: Annotated[
        str | None,
        typer.Argument(
            help="SQL name, key or s3:// prefix of the table; or silver.<name>. Default: everything.",
            autocompletion=table_names,
        ),
    ] = None,
    yes: ApplyChange = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Merge small files, write checkpoints, and delete what no version of a table needs."""
    from tidegate.platform.cli.commands.maintain import run_maintain

    run_maintain(command_console(), table, lake, home, yes=yes, as_json=as_json)


@changes.command()
def forget(
    subjects: Annotated[
        list[str] | None, typer.Argument(help="Identities of the persons, as the tables have them.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="A file with identities, one in each line; - is standard input.")
    ] = None,
    kind: Annotated[str, typer.Option(help="Kind of the persons: `personal.kind` of lake.yaml.")] = "person",
    yes: ApplyChange = False,
    lake: LakeFile = None,
    home: RunningHome = None,
    as_json: PlanAsJson = False,
) -> None:
    """Forget persons: delete their rows, and keep them out for ever. Without persons, show or work off the requests."""
    from tidegate.platform.cli.commands.forget import run_forget

    run_forget(command_console(), subjects or [], file, kind, lake, home, yes=yes, as_json=as_json)
