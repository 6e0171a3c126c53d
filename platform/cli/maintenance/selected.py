"""What a call of `tidegate maintain` maintains."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake.lake import Lake
from tidegate.platform.maintenance.old_objects import maintain_objects
from tidegate.platform.maintenance.tables import MaintenanceResult, maintain_bronze, maintain_silver
from tidegate.platform.query.table_named import table_named

_SILVER = "silver."
_Work = Callable[..., list[MaintenanceResult]]


def selected(lake: Lake, name: str | None) -> Iterator[tuple[str, _Work]]:
    """Yield what a name selects, and the function that maintains it.

    Raises:
        CommandError: there is no such table.
    """
    merged = [spec.name for spec in lake.config.tables if spec.silver]
    if name is None:
        for table_key in sorted(lake.store.births.tables()):
            yield table_key, partial(maintain_bronze, lake, table_key)
        for silver in merged:
            yield f"{_SILVER}{silver}", partial(maintain_silver, lake, silver)
        yield "the lake", partial(maintain_objects, lake, time.time())
        return
    if name.startswith(_SILVER):
        silver = name.removeprefix(_SILVER)
        if silver not in merged:
            known = ", ".join(f"{_SILVER}{each}" for each in merged) or "none"
            raise CommandError(f"there is no silver table {name!r}: lake.yaml has {known}")
        yield name, partial(maintain_silver, lake, silver)
        return
    table_key = table_named(lake, name)
    yield table_key, partial(maintain_bronze, lake, table_key)
    spec = lake.config.table_for(TableKey.decode(table_key))
    if spec and spec.silver:
        yield f"{_SILVER}{spec.name}", partial(maintain_silver, lake, spec.name)
