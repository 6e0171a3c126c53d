"""`tidegate catalog readers` prints which engines can read each table."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidegate.platform.cli.answers.answer import Answer, print_answer
from tidegate.platform.core.catalog.readers import Readable, Reader, readers_of
from tidegate.platform.core.config.silver_columns import WITH_TOMBSTONES
from tidegate.platform.lake.lake import Lake


def run_readers(console: Console, lake: Lake, *, as_json: bool = False) -> None:
    """Print a row for each bronze and silver table of the lake, and a column for each engine.

    Args:
        as_json: print only one JSON object.
    """
    states = ((name, lake.delta.table_state(location)) for name, location in _tables(lake))
    found = {name: readers_of(state.features, state.schema) for name, state in states if state.exists}
    if as_json:
        tables = tuple(
            TableReadersAnswer(table=name, readers=tuple(map(_answer, engines))) for name, engines in found.items()
        )
        print_answer(console, ReadersAnswer(tables=tables))
        return
    shown = Table("table", *(reader.title for reader in Reader), box=None)
    for name, engines in found.items():
        shown.add_row(name, *(Text("yes" if each.reads else f"no: {', '.join(each.forbids)}") for each in engines))
    console.print(shown if found else Text("no table yet"))


def _answer(found: Readable) -> ReaderAnswer:
    return ReaderAnswer(reader=found.reader.title, reads=found.reads, forbids=found.forbids)


def _tables(lake: Lake) -> Iterator[tuple[str, str]]:
    """Yield the SQL name and the location of each table."""
    for table_key in sorted(lake.store.births.tables()):
        table = lake.table(table_key)
        if table.birth is None or table.birth.output:
            continue
        yield f"bronze.{table.birth.name}", table.birth.location
        spec = lake.config.table_for(table.key)
        if spec and spec.silver:
            yield f"silver.{spec.name}{WITH_TOMBSTONES}", lake.store.uri("silver", spec.name)


class ReaderAnswer(Answer):
    """Whether an engine reads a table."""

    reader: str
    """The engine, with the version that was tried."""
    reads: bool
    """Whether it reads the table."""
    forbids: tuple[str, ...]
    """Features of the table that the engine does not read, or reads wrong."""


class TableReadersAnswer(Answer):
    """The engines that read a table."""

    table: str
    """SQL name."""
    readers: tuple[ReaderAnswer, ...]
    """Each engine that is known."""


class ReadersAnswer(Answer):
    """The engines that read each table."""

    tables: tuple[TableReadersAnswer, ...]
    """The tables of bronze and silver that exist."""
