"""`tidegate redrive` retries what is in quarantine. Without --yes it prints what would be retried."""

from __future__ import annotations

import getpass
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.assets.operations.dead_letters import dead_letter_queues, peek, redrive_dead_letters
from tidegate.assets.operations.jobs import MAX_PEEKED
from tidegate.assets.operations.redrive import (
    Choice,
    quarantined_messages,
    quarantined_objects,
    redrive_messages,
    redrive_objects,
)
from tidegate.assets.operations.redrive_routes import redrive_route, undeliverable_messages
from tidegate.platform.cli.commands.table_named import table_named
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.first_line import one_line
from tidegate.platform.core.times import parse_time

_SHOWN = 20
_PARTLY = "partly in quarantine: they are read again, and their rows in the table are replaced in one commit"


def choice_of(reason: str, key: str, since: str, until: str) -> Choice:
    """Returns the choice that the options of the command line describe.

    Raises:
        CommandError: a time is not valid.
    """
    try:
        after, before = (parse_time(text) if text else None for text in (since, until))
    except ValueError as error:
        raise CommandError(f"{error}; give a time like 2026-01-31 or 2026-01-31T12:00:00+01:00") from None
    return Choice(reason, key, after, before)


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
    """Print what would be retried, or retry it.

    Args:
        console: takes the output.
        name: SQL name, key or `s3://` prefix of the table; None for every table.
        choice: the entries of the quarantine to retry.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        messages: retry messages that could not be parsed, instead of objects.
        rate: hints or messages per second.
        yes: retry; without it, only what would be retried is printed.

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
            _show(console, "messages", "in quarantine", [(message.event_id, message.reason) for message in kept])
            if kept and yes:
                say(f"logged as {redrive_messages(opened, kept, choice, by=by, rate=rate, log=say)}")
        else:
            every = [table_named(opened, name)] if name else [table.table_key for table in opened.quarantining()]
            for table_key in every:
                found = quarantined_objects(opened, table_key, choice)
                total += len(found)
                for what, partly in (("in quarantine", False), (_PARTLY, True)):
                    shown = [(item.key, item.reason_and_folder) for item in found if item.partly is partly]
                    _show(console, table_key, what, shown)
                if found and yes:
                    say(f"logged as {redrive_objects(opened, table_key, found, choice, by=by, rate=rate, log=say)}")
        routes = [] if messages or name else opened.store.outbox.routes_with_undeliverable()
        for route in routes:
            undeliverable = opened.store.outbox.undeliverable_count(route)
            say(f"route {route}: {undeliverable} messages are undeliverable: tidegate redrive --route {route}")
    if not total:
        say("nothing in quarantine matches")
    elif not yes:
        console.print(Text("\nNothing was changed. To do it, repeat the command with --yes", style="bold"))


def run_redrive_route(
    console: Console, route: str, choice: Choice, lake: Path | None, home: Path | None, *, rate: int, yes: bool
) -> None:
    """Print the messages that the destination of a route did not take, or move them back to the outbox.

    Args:
        console: takes the output.
        route: name of the route.
        choice: the messages to send.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        rate: messages per second.
        yes: retry; without it, only what would be retried is printed.

    Raises:
        CommandError: there is no such route, or an object in its quarantine is not one of Tidegate's.
    """

    def say(line: str) -> None:
        console.print(Text(line))

    using = client(home, lake)
    with using.reaching_spark(), using.settings.opened() as opened:
        known = [spec.name for spec in opened.config.routes]
        if route not in known:
            raise CommandError(f"lake.yaml has no route {route!r}; its routes: {', '.join(known) or 'none'}")
        try:
            found = undeliverable_messages(opened, route, choice)
        except ValueError as error:
            raise CommandError(str(error)) from None
        _show(console, f"route {route}", "undeliverable", [(kept.message.id, kept.reason) for kept in found])
        if not found:
            say("nothing in quarantine matches")
        elif yes:
            by = getpass.getuser()
            say(f"logged as {redrive_route(opened, route, found, choice, by=by, rate=rate, log=say)}")
        else:
            console.print(Text("\nNothing was changed. To do it, repeat the command with --yes", style="bold"))


def run_redrive_dead_letters(
    console: Console, name: str | None, choice: Choice, lake: Path | None, home: Path | None, *, rate: int, yes: bool
) -> None:
    """Print what is in dead-letter queues, or send it back to the source queues.

    Args:
        console: takes the output.
        name: a queue or its dead-letter queue; None for every queue.
        choice: the messages to send.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        rate: messages per second.
        yes: retry; without it, only what would be retried is printed.

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
            seen = peek(opened, letters, MAX_PEEKED) if depth.waiting else []
            selected = [letter for letter in seen if letter.is_chosen(choice)]
            _show(
                console,
                dead.name,
                f"selected, of {len(seen)} read",
                [(letter.keys[0], letter.reason) for letter in selected],
            )
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
        reasons = ", ".join(f"{n} × {one_line(why)}" for why, n in rest.most_common(5))
        console.print(Text(f"  and {rest.total()} more: {reasons}"))
