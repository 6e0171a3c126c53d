"""`tidegate catalog readers` prints which engines can read each table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidegate.platform.core.catalog.readers import Reader, readers_of
from tidegate.resources.lake import WITH_TOMBSTONES, Lake


def run_readers(console: Console, lake: Lake) -> None:
    """Print a row for each bronze and silver table of the lake, and a column for each engine.

    Args:
        console: takes the output.
        lake: the lake.
    """
    shown = Table("table", *(reader.title for reader in Reader), box=None)
    for name, location in _tables(lake):
        state = lake.delta.table_state(location)
        if state.exists:
            found = readers_of(state.features)
            shown.add_row(name, *(Text("yes" if each.reads else f"no: {', '.join(each.forbids)}") for each in found))
    console.print(shown)
    if not shown.row_count:
        console.print(Text("no table yet"))


def _tables(lake: Lake) -> list[tuple[str, str]]:
    found = []
    for table_key in sorted(lake.store.births.tables()):
        table = lake.table(table_key)
        if table.birth is None or table.birth.output:
            continue
        found.append((f"bronze.{table.birth.name}", table.birth.location))
        spec = lake.config.table_for(table.key)
        if spec and spec.silver:
            found.append((f"silver.{spec.name}{WITH_TOMBSTONES}", lake.store.uri("silver", spec.name)))
    return found
