"""`tidegate redrive` retries what is in quarantine. Without --yes it prints what would be retried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidegate.assets.operations.jobs import MAX_PEEKED
from tidegate.platform.cli.answers.answer import print_answer
from tidegate.platform.cli.answers.plans import RedriveAnswer, RedriveEntry, refuse_to_apply
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.times import parse_time
from tidegate.platform.core.wording import one_line
from tidegate.platform.lake.aws.clients import caller
from tidegate.platform.lake.lake import Lake
from tidegate.platform.operations.dead_letters import dead_letter_queues, peek, redrive_dead_letters
from tidegate.platform.operations.redrive import (
    Choice,
    RedriveRequest,
    quarantined_messages,
    quarantined_objects,
    redrive_messages,
    redrive_objects,
    redrive_route,
    undeliverable_messages,
)
from tidegate.platform.query.table_lookup import table_named

_SHOWN = 20
_PARTLY = "partly in quarantine: they are read again, and their rows in the table are replaced in one commit"
_PARTLY_IN_OUTPUT = (
    "partly in quarantine: a redrive refuses them, because nothing can replace their good rows in the output; write "
    "their bad rows as new files"
)


def build_choice(reason: str, key: str, since: str, until: str) -> Choice:
    """Return the choice that the options of the command line describe.

    Raises:
        CommandError: a time is not valid.
    """
    try:
        after, before = (parse_time(text) if text else None for text in (since, until))
    except ValueError as error:
        raise CommandError(f"{error}; give a time like 2026-01-31 or 2026-01-31T12:00:00+01:00") from None
    return Choice(reason, key, after, before)


class Kind(StrEnum):
    """What is retried. The name that a user gives is that of a table, a route or a queue; messages have none."""

    OBJECTS = "objects"
    MESSAGES = "messages"
    ROUTE = "route"
    DEAD_LETTERS = "dead letters"


def run_redrive(
    console: Console,
    kind: Kind,
    name: str | None,
    choice: Choice,
    lake: Path | None,
    home: Path | None,
    *,
    rate: int,
    yes: bool,
    as_json: bool = False,
) -> None:
    """Print what would be retried, or retry it.

    Args:
        kind: what is retried.
        name: of objects, the SQL name, key or `s3://` prefix of their table; of dead letters, their queue or its
            dead-letter queue; None for all. Of a route, its name.
        choice: the entries of the quarantine to retry.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        rate: hints or messages per second.
        yes: retry; without it, only what would be retried is printed.
        as_json: print only what would be retried, as one JSON object.

    Raises:
        CommandError: there is no such table, route or queue, an object in the quarantine of a route is not one of
            Tidegate's, Spark does not answer, or `as_json` and `yes` are given together.
    """
    refuse_to_apply(as_json=as_json, yes=yes)

    def say(line: Text | str) -> None:
        if not as_json:
            console.print(Text(line) if isinstance(line, str) else line)

    using = client(home, lake)
    request = RedriveRequest(caller(using.settings.aws), choice, rate, say)
    with using.open_lake() as opened:
        redriving = _RedriveCall(say, opened, request, yes)
        match kind:
            case Kind.OBJECTS:
                found = redriving.objects(name)
            case Kind.MESSAGES:
                found = redriving.messages()
            case Kind.ROUTE:
                found = redriving.route(name or "")
            case Kind.DEAD_LETTERS:
                found = redriving.dead_letters(name)
    if as_json:
        print_answer(console, redriving.answer(kind))
    elif found and not yes:
        say(Text("\nNothing was changed. To do it, repeat the command with --yes", style="bold"))
    elif not found and kind is not Kind.DEAD_LETTERS:
        request.log("nothing in quarantine matches")


@dataclass(frozen=True)
class _RedriveCall:
    """One call of the command. The method of a kind shows it, retries it if `yes`, and returns how much there is."""

    say: Callable[[Text | str], None]
    lake: Lake
    request: RedriveRequest
    yes: bool
    entries: list[RedriveEntry] = field(default_factory=list)
    letters: dict[str, int] = field(default_factory=dict)
    undeliverable: dict[str, int] = field(default_factory=dict)

    def answer(self, kind: Kind) -> RedriveAnswer:
        """Return what was shown, for programs."""
        return RedriveAnswer(
            kind=kind.value,
            entries=tuple(self.entries),
            dead_letters=self.letters,
            undeliverable=self.undeliverable,
        )

    def objects(self, name: str | None) -> int:
        total = 0
        every = (
            [table_named(self.lake, name)] if name else [table.table_key for table in self.lake.quarantining_tables()]
        )
        for table_key in every:
            found = quarantined_objects(self.lake, table_key, self.request.choice)
            total += len(found)
            table = self.lake.table(table_key)
            if table.birth and table.birth.adopted and self.request.choice.key == Choice.key:
                self.request.log(f"{table_key} was adopted: what its log did not name then is chosen by --key only")
            in_output = table.spec.output is not None
            for what, partly in (("in quarantine", False), (_PARTLY_IN_OUTPUT if in_output else _PARTLY, True)):
                shown = [(item.key, item.reason_and_folder) for item in found if item.partly is partly]
                self._show(table_key, table_key, what, shown, partly=partly, refused=partly and in_output)
            if found and self.yes:
                self._report_address(redrive_objects(self.lake, table_key, found, self.request))
        for route in [] if name else self.lake.store.outbox.routes_with_undeliverable():
            undeliverable = self.undeliverable[route] = self.lake.store.outbox.undeliverable_count(route)
            self.request.log(
                f"route {route}: {undeliverable} messages are undeliverable: tidegate redrive --route {route}"
            )
        return total

    def messages(self) -> int:
        kept = quarantined_messages(self.lake.store.quarantine, self.request.choice)
        self._show("", "messages", "in quarantine", [(message.event_id, message.reason) for message in kept])
        if kept and self.yes:
            self._report_address(redrive_messages(self.lake, kept, self.request))
        return len(kept)

    def route(self, name: str) -> int:
        known = [spec.name for spec in self.lake.config.routes]
        if name not in known:
            raise CommandError(f"lake.yaml has no route {name!r}; its routes: {', '.join(known) or 'none'}")
        try:
            found = undeliverable_messages(self.lake.store.outbox, name, self.request.choice)
        except ValueError as error:
            raise CommandError(str(error)) from None
        self._show(name, f"route {name}", "undeliverable", [(kept.message.id, kept.reason) for kept in found])
        if found and self.yes:
            self._report_address(
                redrive_route(self.lake.store.outbox, self.lake.store.operations, name, found, self.request)
            )
        return len(found)

    def dead_letters(self, name: str | None) -> int:
        try:
            queues = dead_letter_queues(self.lake.config, self.lake.queues, name)
        except ValueError as error:
            raise CommandError(str(error)) from None
        if not queues:
            self.request.log("no queue has a dead-letter queue")
        total = 0
        for letters in queues:
            dead = letters.queue
            waiting = self.letters[dead.name] = dead.depths().waiting
            total += waiting
            self.request.log(f"{dead.name}: {waiting} messages, dead letters of {letters.source.name}")
            seen = peek(self.lake.config, self.lake.store, letters, MAX_PEEKED) if waiting else []
            selected = [letter for letter in seen if letter.is_chosen(self.request.choice)]
            shown = [(letter.keys[0], letter.reason) for letter in selected]
            self._show(dead.name, dead.name, f"selected, of {len(seen)} read", shown)
            if waiting and self.yes:
                self._report_address(redrive_dead_letters(self.lake.config, self.lake.store, letters, self.request))
        return total

    def _report_address(self, address: str) -> None:
        self.request.log(f"logged as {address}")

    def _show(
        self,
        of: str,
        what: str,
        how: str,
        found: list[tuple[str, str]],
        *,
        partly: bool = False,
        refused: bool = False,
    ) -> None:
        self.entries.extend(
            RedriveEntry(of=of, key=key, reason=reason, partly=partly, refused=refused) for key, reason in found
        )
        if not found:
            return
        self.say(Text(f"{what}: {len(found)} {how}", style="bold"))
        for key, reason in found[:_SHOWN]:
            self.say(Text(f"  {one_line(key)}  ") + Text(one_line(reason), style="dim"))
        if len(found) > _SHOWN:
            rest = Counter(reason.split(":")[0] for _, reason in found[_SHOWN:])
            reasons = ", ".join(f"{n} × {one_line(why)}" for why, n in rest.most_common(5))
            self.say(Text(f"  and {rest.total()} more: {reasons}"))
