"""`tidegate why` shows why a row of silver is as it is: every row of bronze with its key, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tidegate.platform.cli.answers.answer import Answer, print_answer
from tidegate.platform.cli.environment import client
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.silver_columns import (
    CHANGED_AT,
    CHANGED_BATCH,
    DELETED,
    IS_CURRENT,
    JOINED,
    VALID_FROM,
    VALID_TO,
    WITH_TOMBSTONES,
)
from tidegate.platform.core.row_json import row_json
from tidegate.platform.core.silver.audit.explanations import format_order
from tidegate.platform.core.silver.audit.key_row import Fate
from tidegate.platform.core.wording import command, one_line
from tidegate.platform.query.table_lookup import table_named
from tidegate.platform.silver.audit.key_history import Event, KeyHistory, key_history
from tidegate.platform.silver.expect.failing_expressions import name_failing_expression

#: Rows that are printed. JSON has all that were read.
_SHOWN = 50
#: Length of a query that is printed. JSON has longer ones, too: a query of bronze has the value of each column.
_MAX_QUERY = 600


def run_why(
    console: Console, name: str, key: Sequence[str], lake: Path | None, home: Path | None, *, as_json: bool = False
) -> bool:
    """Print the history of a key. Returns whether silver has what bronze gives.

    Args:
        name: SQL name, key or `s3://` prefix of the table.
        key: `part=value` for each part of the key.
        lake: the lake.yaml; None takes that of the local platform, else TIDEGATE_LAKE, else `lake.yaml`.
        home: home of a running local platform; None takes a running default one, else the environment.
        as_json: print only one JSON object.

    Raises:
        CommandError: there is no such table or key, or Spark does not answer.
    """
    using = client(home, lake)
    with using.open_lake() as opened:
        table = opened.table(table_named(opened, name.removeprefix("silver.").removesuffix(WITH_TOMBSTONES)))
        try:
            with name_failing_expression(table.spec):
                found = key_history(opened, table.spec, key)
        except ValueError as error:
            raise CommandError(str(error)) from None
    if as_json:
        print_answer(console, _answer(found))
    else:
        _show(console, found)
    return found.is_right


def _answer(found: KeyHistory) -> WhyAnswer:
    own = found.silver
    silver = None
    if own is not None:
        columns = {DELETED: own.row.deleted, CHANGED_BATCH: own.changed_batch, CHANGED_AT: own.changed_at}
        silver = {**row_json(own.row.values), **columns}
    history = tuple(
        {
            **row_json(time.values),
            VALID_FROM: row_json(time.interval.valid_from),
            VALID_TO: None if time.interval.valid_to is None else row_json(time.interval.valid_to),
            IS_CURRENT: time.interval.is_current,
            DELETED: time.interval.deleted,
            JOINED: time.interval.joined,
            CHANGED_BATCH: time.interval.n,
            CHANGED_AT: time.changed_at,
        }
        for time in found.times
    )
    rows = tuple(
        WhyRow(
            batch=event.row.n,
            fate=event.fate,
            why=event.why,
            order=row_json(event.row.order),
            values=row_json(event.row.values),
            deletes=event.row.deletes,
            file=event.found.address,
            event=event.event,
            recorded_at=event.recorded_at,
        )
        for event in found.events
    )
    return WhyAnswer(
        table=found.table,
        key=found.key,
        is_right=found.is_right,
        verdict=found.verdict,
        silver=silver,
        history=history,
        rows=rows,
        more=found.more,
        sql=found.sql,
        notes=found.notes,
    )


def _show(console: Console, found: KeyHistory) -> None:
    for event in found.events[:_SHOWN]:
        for line in _lines(event):
            console.print(line)
    hidden = len(found.events) - _SHOWN
    if hidden > 0 or found.more:
        console.print(Text(f"{max(hidden, 0)} older rows and more; the SQL shows all", style="dim"))
    console.print(Text(f"\n{found.key}: {one_line(found.verdict)}", style="bold"))
    for note in found.notes:
        console.print(Text(f"\n{one_line(note)}", style="yellow"))
    short = [query for query in found.sql if len(query) <= _MAX_QUERY]
    for query in short:
        # A terminal breaks a long line itself, and gives it back in one piece to the person who copies it.
        console.print(Text(f"\n{command('sql', query)}", style="dim"), soft_wrap=True)
    if len(short) < len(found.sql):
        console.print(Text("\n--json has the SQL of the rows in bronze, which is long", style="dim"))


def _lines(event: Event) -> list[Text]:
    at = event.recorded_at.strftime("%Y-%m-%d %H:%M:%SZ") if event.recorded_at else ""
    order = format_order(event.row.order)
    batch = "batch ?" if event.row.n is None else f"batch {event.row.n}"
    if event.found.address is None:
        return [Text(f"{'':11}{'':21}{event.fate:13}") + Text(one_line(event.why))]
    return [
        Text(f"{batch:11}{at:21}{event.fate:13}") + Text(one_line(event.why)),
        Text(f"{'':11}order {one_line(order)}: {one_line(event.row.values)}", style="dim"),
        Text(f"{'':11}{one_line(event.found.address)}, {one_line(event.event)}", style="dim"),
    ]


class WhyRow(Answer):
    """A row of bronze with the key, and what became of it."""

    batch: int | None
    """Number of its batch. null if its file was rewritten, so the batch is not known."""
    fate: Fate
    """What became of it."""
    why: str
    """The fate as a sentence."""
    order: Mapping[str, Any]
    """The parts of its order, `o1`, `o2`, …"""
    values: Mapping[str, Any]
    """The values that silver has or would have."""
    deletes: bool
    """Whether it deletes the key."""
    file: str | None
    """Its file, as `s3://bucket/key`. null if a full dump does not have the key."""
    event: str
    """The event that announced the file, and the run that read it."""
    recorded_at: datetime | None
    """When its batch was recorded."""


class WhyAnswer(Answer):
    """The rows of bronze with a key, and silver's row of it."""

    table: str
    """The silver table."""
    key: str
    """The key, as `order_id = 42`."""
    is_right: bool
    """Whether silver has what bronze gives."""
    verdict: str
    """What silver has, and why."""
    silver: Mapping[str, Any] | None
    """Silver's row, with its own columns. null if it has none, or the history of each key."""
    history: tuple[Mapping[str, Any], ...]
    """Silver's rows of a history, with its own columns, the newest first."""
    rows: tuple[WhyRow, ...]
    """The rows of bronze, the newest first."""
    more: bool
    """Whether bronze has more rows, which are older."""
    sql: tuple[str, ...]
    """Queries that show the rows in bronze and in silver."""
    notes: tuple[str, ...] = ()
    """Sentences about newer full dumps that are not complete, and so delete nothing."""
