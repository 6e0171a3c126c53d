"""`tidegate redrive`: what is in quarantine comes back; first it shows what that would be."""

from __future__ import annotations

import getpass
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.assets.operations.dead_letters import dead_letter_queues, peek, redrive_dead_letters
from tidegate.assets.operations.jobs import MOST_PEEKED, moment
from tidegate.assets.operations.redrive import (
    Choice,
    quarantined_messages,
    quarantined_objects,
    redrive_messages,
    redrive_objects,
)
from tidegate.platform.cli.commands.table_named import table_named
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.first_line import one_line

_SHOWN = 20
_PARTLY = "partly in quarantine; read again, and what they have in the table is replaced in one commit"


def choice_of(reason: str, key: str, since: str, until: str) -> Choice:
    """What is meant, from the command line.

    Raises:
        CommandError: a time is none.
    """
    try:
        return Choice(reason, key, moment(since), moment(until))
    except ValueError as error:
        raise CommandError(f"{error}; give a time like 2026-01-31 or 2026-01-31T12:00:00+01:00") from None


def run_redrive(
    console: Console,
    name: str | None,
    choice: Choice,
    lake: Path | None,
    home: Path | None,
    *,
    messages: bool,
    rate: int,
    yes: bool,
) -> None:
    """Say what is meant, or have it looked at again.

    Args:
        console: where it is printed.
        name: the table: its SQL name, its key, or its ``s3://`` prefix; None for every table.
        choice: what of the quarantine is meant.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else ``lake.yaml``.
        home: of a running local platform; None takes a running default one, else the environment.
        messages: messages that could not be understood, instead of objects.
        rate: hints or messages a second.
        yes: do it.

    Raises:
        CommandError: there is no such table, or Spark does not answer.
    """
    by, total = getpass.getuser(), 0

    def say(line: str) -> None:
        console.print(Text(line))

    using = client(home, lake)
    with using.reaching_spark(), using.settings.opened() as opened:
        if messages:
            kept = quarantined_messages(opened, choice)
            total += len(kept)
            _show(console, "messages", "in quarantine", [(one.event_id, one.reason) for one in kept])
            if kept and yes:
                say(f"logged as {redrive_messages(opened, kept, choice, by=by, rate=rate, log=say)}")
        else:
            every = [table_named(opened, name)] if name else [table.text for table in opened.quarantining()]
            for text in every:
                found = quarantined_objects(opened, text, choice)
                total += len(found)
                _show(console, text, "in quarantine", [(one.key, one.reason) for one in found if not one.partly])
                _show(console, text, _PARTLY, [(one.key, one.reason) for one in found if one.partly])
                if found and yes:
                    say(f"logged as {redrive_objects(opened, text, found, choice, by=by, rate=rate, log=say)}")
    if not total:
        say("nothing in quarantine matches")
    elif not yes:
        console.print(Text("\nNothing was changed. To do it, repeat the command with --yes", style="bold"))


def run_redrive_dead_letters(
    console: Console, name: str | None, choice: Choice, lake: Path | None, home: Path | None, *, rate: int, yes: bool
) -> None:
    """Say what lies in dead-letter queues, or send it to the queues that it came from.

    Args:
        console: where it is printed.
        name: a queue or its dead-letter queue; None for every one.
        choice: which of their messages are meant.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else ``lake.yaml``.
        home: of a running local platform; None takes a running default one, else the environment.
        rate: messages a second.
        yes: do it.

    Raises:
        CommandError: there is no such queue.
    """
    by, waiting = getpass.getuser(), 0

    def say(line: str) -> None:
        console.print(Text(line))

    using = client(home, lake)
    with using.reaching_spark(), using.settings.opened() as opened:
        try:
            queues = dead_letter_queues(opened, name)
        except ValueError as error:
            raise CommandError(str(error)) from None
        for letters in queues:
            dead = letters.queue
            depth = dead.depths()
            waiting += depth.waiting
            say(f"{dead.name}: {depth.waiting} messages, dead letters of {letters.source.name}")
            seen = peek(opened, letters, MOST_PEEKED) if depth.waiting else []
            meant = [one for one in seen if one.is_meant(choice)]
            _show(console, dead.name, f"meant, of {len(seen)} looked at", [(one.keys[0], one.reason) for one in meant])
            if depth.waiting and yes:
                say(f"logged as {redrive_dead_letters(opened, letters, choice, by=by, rate=rate, log=say)}")
    if not queues:
        say("no queue has a dead-letter queue")
    elif waiting and not yes:
        console.print(Text("\nNothing was changed. To do it, repeat the command with --yes", style="bold"))


def _show(console: Console, what: str, how: str, found: list[tuple[str, str]]) -> None:
    if not found:
        return
    console.print(Text(f"{what}: {len(found)} {how}", style="bold"))
    for key, reason in found[:_SHOWN]:
        console.print(Text(f"  {one_line(key)}  ") + Text(one_line(reason), style="dim"))
    if len(found) > _SHOWN:
        rest = Counter(reason.split(":")[0] for _, reason in found[_SHOWN:])
        told = ", ".join(f"{n} × {one_line(why)}" for why, n in rest.most_common(5))
        console.print(Text(f"  and {rest.total()} more: {told}"))
