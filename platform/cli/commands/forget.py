"""`tidegate forget` forgets persons. Without --yes it prints what the lake has of them.

What it prints has no identity.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text
from ulid import ULID

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import ForgetAnswer, ForgetRequestAnswer, FoundOfPersons, refuse_to_apply
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.wording import first_texts
from tidegate.platform.forgetting.forget import Progress, ask, progress, search_subjects, work_off
from tidegate.platform.forgetting.subject_search import Found, count_total, tables_of, unsearched_folders
from tidegate.platform.lake.aws.clients import caller
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.suppression import SecretProblem


def run_forget(
    console: Console,
    subjects: Sequence[str],
    file: Path | None,
    kind: str,
    lake: Path | None,
    home: Path | None,
    *,
    yes: bool,
    as_json: bool = False,
) -> None:
    """Print what the lake has of subjects, or forget them. Without subjects, show the requests, or work them off.

    Args:
        subjects: identities of the persons.
        file: a file with further identities, one a line.
        kind: kind of the subjects.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        yes: forget them; without it, nothing is changed.
        as_json: print only what there is, as one JSON object.

    Raises:
        CommandError: nobody can be forgotten in this way, the secret is missing, a table does not show whose its rows
            are, Spark does not answer, or `as_json` and `yes` are given together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)

    def say(line: str) -> None:
        console.print(Text(line))

    names = [*subjects, *read_identities(file)]
    using = client(home, lake)
    try:
        with using.open_lake() as opened:
            if names:
                found = search_subjects(opened, kind, names)
                tables = tables_of(opened.config, kind)
                if as_json:
                    print_answer(console, found_answer(found, tables))
                    return
                say("\n".join(_format_found(opened, found, tables, len(set(names)))))
                if not yes:
                    say("\nNothing was changed. To forget them, add --yes")
                    return
                request = ask(opened, kind, names, caller(using.settings.aws))
                say(f"request {request.id} is written: no load and no merge lets them in again")
            shows = not names and not yes
            states = progress(opened) if shows else work_off(opened, f"forget {ULID()}", say)
    except (DataError, SecretProblem) as refused:
        raise CommandError(str(refused)) from None
    if as_json:
        print_answer(console, states_answer(states))
    else:
        say("\n".join(state_lines(states)))


def _format_found(lake: Lake, found: Sequence[Found], tables: Sequence[TableSpec], subjects: int) -> list[str]:
    return [*found_lines(found, subjects), *export_lines(tables), *unsearched_lines(unsearched_folders(lake))]


def read_identities(file: Path | None) -> list[str]:
    """Return the identities of a file, one a line. `-` is standard input.

    Raises:
        CommandError: the file cannot be read, or a line begins or ends with a space.
    """
    if file is None:
        return []
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
        lines = text.splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read as text: {getattr(error, 'strerror', None) or error}") from None
    for number, line in enumerate(lines, 1):
        if line != line.strip():
            raise CommandError(f"line {number} of {file} begins or ends with a space, as no identity does: remove it")
    return [line for line in lines if line]


def found_lines(found: Sequence[Found], subjects: int) -> list[str]:
    """Return what the lake has of subjects, one line for each place."""
    lines = [f"{subjects} subjects: {count_total(found)} rows, lines and messages"]
    for table in found:
        lines += [
            f"  bronze.{table.table}   {table.bronze} rows in {table.bronze_files} data files ({table.bronze_bytes} "
            f"bytes), of {table.sources} source objects, which stay as they are",
            f"  silver.{table.table}   {table.silver} rows, tombstones included",
            *(
                f"  {place}/   {count} lines or messages of {table.table}"
                for place, count in sorted(table.kept.items())
            ),
        ]
    return lines


def unsearched_lines(folders: Sequence[str]) -> list[str]:
    """Return what to do about folders of tables that cannot be searched."""
    if not folders:
        return []
    shown = ", ".join(first_texts(folders, 10))
    return [
        f"  not searched: {shown}. lake.yaml has no such table, or its bronze table has no batch yet, so nobody can "
        "say whose its rows are: delete the folder of a table that nobody needs, or configure the table with `personal`"
    ]


def export_lines(tables: Sequence[TableSpec]) -> list[str]:
    """Return a line for each table whose exports may have rows of subjects. They belong to those who read them."""
    return [
        f"  {spec.output_root}   exports of silver.{spec.name} are not searched, and stay. No later export has a "
        "row of these subjects"
        for spec in tables
        if spec.exports
    ]


def state_lines(states: Sequence[Progress]) -> list[str]:
    """Return the state of each request that is not done, one line each, and how many are done."""
    now = datetime.now(UTC)
    lines = []
    for table in states:
        if table.done:
            continue
        after = f", its files may be deleted from {table.due:%Y-%m-%d %H:%M} UTC on" if table.due else ""
        late = "LATE: " if table.is_late(now) else ""
        lines.append(
            f"{late}request {table.request.id} of {table.request.by}, {len(table.request.digests)} subjects: "
            f"{table.state}{after}; must be done until {table.request.until:%Y-%m-%d}"
        )
    return [*lines, f"{sum(state.done is not None for state in states)} of {len(states)} requests are done"]


def found_answer(found: Sequence[Found], tables: Sequence[TableSpec]) -> ForgetAnswer:
    """Return what the lake has of subjects, for programs.

    Args:
        found: what each table has.
        tables: the tables with this kind of subject.
    """
    places = (
        FoundOfPersons(
            table=table.table,
            bronze_rows=table.bronze,
            bronze_files=table.bronze_files,
            bronze_bytes=table.bronze_bytes,
            sources=table.sources,
            silver_rows=table.silver,
            kept=table.kept,
        )
        for table in found
    )
    exports = tuple(spec.output_root for spec in tables if spec.exports and spec.output_root)
    return ForgetAnswer(found=tuple(places), exports=exports, requests=None)


def states_answer(states: Sequence[Progress]) -> ForgetAnswer:
    """Return the state of each request, for programs."""
    now = datetime.now(UTC)
    requests = (
        ForgetRequestAnswer(
            id=table.request.id,
            by=table.request.by,
            subjects=len(table.request.digests),
            state=table.state,
            files_may_go=table.due,
            until=table.request.until,
            late=table.is_late(now),
        )
        for table in states
    )
    return ForgetAnswer(found=None, exports=(), requests=tuple(requests))
