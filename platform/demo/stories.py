"""The stories of two keys, which the demo shows at its end: what became of each row, and a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from tidegate.platform.lake.lake import Lake
from tidegate.platform.silver.audit.key_history import KeyHistory, key_history

#: A flight that the export deletes, and of which it then brings an older row.
FLIGHT = ("year=2013", "month=2", "day=1", "carrier=EV", "flight=5716", "origin=JFK")
#: A reading that is deleted, and returns with another temperature.
READING = (
    "SELECT temp, valid_from, valid_to, is_current FROM silver.weather "
    "WHERE origin = 'JFK' AND time_hour = '2013-05-01 10:00' ORDER BY valid_from"
)


@dataclass(frozen=True)
class Stories:
    """What became of two keys.

    Attributes:
        flight: every row of a flight.
        reading: the rows of a reading's history, oldest first.
    """

    flight: KeyHistory
    reading: list[dict[str, Any]]


def read_stories(lake: Lake) -> Stories:
    """Returns the stories."""
    spec = next(spec for spec in lake.config.tables if spec.name == "flights")
    flight = key_history(lake, spec, FLIGHT)
    return Stories(flight, [row.asDict() for row in lake.delta.session.sql(READING).collect()])


def show_stories(console: Console, stories: Stories) -> None:
    """Print the stories."""
    table = Table(title="One flight: tidegate why silver.flights", header_style="bold")
    for name in ("batch", "deletes", "became", "why"):
        table.add_column(name)
    for event in stories.flight.events:
        deletes = "yes" if event.row.deletes else ""
        table.add_row("" if event.row.n is None else str(event.row.n), deletes, event.fate.value, event.why)
    console.print(table)
    table = Table(title="One reading: silver.weather is a history", header_style="bold")
    for name in ("temp", "valid_from", "valid_to", "is_current"):
        table.add_column(name)
    for row in stories.reading:
        table.add_row(*("" if value is None else str(value) for value in row.values()))
    console.print(table)
