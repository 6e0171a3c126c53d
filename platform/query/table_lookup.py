"""Finds the table that a command's argument names, or says what there is."""

from __future__ import annotations

from difflib import get_close_matches

from tidegate.platform.core.errors import BadSetting
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.wording import first_texts
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.sql_names import SqlNames

#: Tables that an error message names.
MAX_NAMED = 12


def table_named(lake: Lake, name: str) -> str:
    """Return the key of a table.

    Args:
        name: SQL name, key or `s3://` prefix of the table.

    Raises:
        BadSetting: there is no such table.
    """
    if S3Address.names(name):
        try:
            return TableKey.from_uri(name if name.endswith("/") else f"{name}/").encode()
        except ValueError as error:
            raise BadSetting(str(error)) from None
    name = name.removeprefix("bronze.")
    for spec in lake.config.tables:
        if spec.name == name:
            return spec.table_key.encode()
    born = lake.store.births.tables()
    if name in born:
        return name
    if table_key := SqlNames(lake).table_key_of(name):
        return table_key
    known = sorted({spec.name for spec in lake.config.tables} | set(born))
    nearest = get_close_matches(name, known, MAX_NAMED, 0.0) if len(known) > MAX_NAMED else known
    some = ", ".join(first_texts(nearest, MAX_NAMED, len(known)))
    raise BadSetting(f"there is no table {name!r}: give its SQL name, its key or its s3:// prefix; there are {some}")
