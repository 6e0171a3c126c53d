"""`tidegate forget` forgets persons. Without --yes it prints what the lake has of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text
from ulid import ULID

from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import refuse_to_apply
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.cli.forgetting.lines import (
    export_lines,
    found_answer,
    found_lines,
    state_lines,
    states_answer,
    unsearched_lines,
)
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.forgetting.find import Found, tables_of, unsearched_folders
from tidegate.platform.forgetting.forget import ForgetRefused, ask, progress, search_subjects, work_off
from tidegate.platform.lake.aws.caller import caller
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.suppression import SecretProblem, SubjectProblem


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
        console: takes the output.
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

    names = [*subjects, *listed(file)]
    using = client(home, lake)
    try:
        with using.opened() as opened:
            if names:
                found = search_subjects(opened, kind, names)
                tables = tables_of(opened, kind)
                if as_json:
                    print_answer(console, found_answer(found, tables))
                    return
                say("\n".join(_found(opened, found, tables, len(set(names)))))
                if not yes:
                    say("\nNothing was changed. To forget them, add --yes")
                    return
                request = ask(opened, kind, names, caller(using.settings.aws))
                say(f"request {request.id} is written: no load and no merge lets them in again")
            shows = not names and not yes
            states = progress(opened) if shows else work_off(opened, f"forget {ULID()}", say)
    except (ForgetRefused, SecretProblem, SubjectProblem) as refused:
        raise CommandError(str(refused)) from None
    if as_json:
        print_answer(console, states_answer(states))
    else:
        say("\n".join(state_lines(states)))


def _found(lake: Lake, found: Sequence[Found], tables: Sequence[TableSpec], subjects: int) -> list[str]:
    return [*found_lines(found, subjects), *export_lines(tables), *unsearched_lines(unsearched_folders(lake))]


def listed(file: Path | None) -> list[str]:
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
