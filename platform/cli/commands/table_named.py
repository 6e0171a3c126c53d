"""The table that a command's argument names."""

from __future__ import annotations

from difflib import get_close_matches

from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.resources.lake import Lake

#: Tables that an error names.
_MOST_TOLD = 12


def table_named(lake: Lake, name: str) -> str:
    """The key of a table.

    Args:
        lake: handles.
        name: its SQL name, its key, or its ``s3://`` prefix.

    Raises:
        CommandError: there is no such table.
    """
    if name.startswith("s3://"):
        try:
            return TableKey.from_uri(name if name.endswith("/") else f"{name}/").encode()
        except ValueError as error:
            raise CommandError(str(error)) from None
    name = name.removeprefix("bronze.")
    for spec in lake.config.tables:
        if spec.name == name:
            return spec.table_key.encode()
    born = lake.store.births.tables()
    if name in born:
        return name
    if text := lake.called(name):
        return text
    known = sorted({spec.name for spec in lake.config.tables} | set(born))
    some = ", ".join(get_close_matches(name, known, _MOST_TOLD, 0.0) if len(known) > _MOST_TOLD else known)
    more = f" and {len(known) - _MOST_TOLD} more" if len(known) > _MOST_TOLD else ""
    raise CommandError(
        f"there is no table {name!r}: give its SQL name, its key or its s3:// prefix; there are {some}{more}"
    )
