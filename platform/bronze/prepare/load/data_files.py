"""Data files of a table that are written again without some of their rows: Delta removes files, not rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from pyspark.sql import DataFrame

from tidegate.platform.core.bronze.batch import Add, Remove
from tidegate.platform.core.schema.column_types import quoted
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.temporary_view import temporary_view

#: Attempts to find the files while no other writer commits.
_MAX_ATTEMPTS = 5
_F = TypeVar("_F")


def found_with_entries(
    delta: Delta, location: str, name: str, find: Callable[[], Sequence[_F]], path: Callable[[_F], str]
) -> tuple[Sequence[_F], dict[str, Remove]]:
    """Return data files and their live entries, both of one version of the table.

    Args:
        delta: reads the table.
        location: `s3a://` URI of the table.
        name: SQL name of the table.
        find: finds the files.
        path: returns the path of a file, relative to the table.

    Raises:
        RuntimeError: another writer committed to the table during each attempt.
    """
    for _ in range(_MAX_ATTEMPTS):
        version = delta.table_state(location).version
        files = find()
        entries = delta.live_entries(location, [path(file) for file in files])
        if delta.table_state(location).version == version:
            return files, entries
    raise RuntimeError(
        f"others committed to {name} during each of {_MAX_ATTEMPTS} looks for the rows of files that are read again. "
        "Nothing was changed: run the table again"
    )


def stage_rest(
    delta: Delta, location: str, paths: Sequence[str], rest: Callable[[DataFrame], DataFrame], base: TableSchema
) -> list[Add]:
    """Stage the rows of data files that stay.

    The rows are read after the entries of the files. A writer that changes a file in between changes its entry too, and
    then the batch is void.

    Args:
        delta: writes the files.
        location: `s3a://` URI of the table.
        paths: of the data files, relative to the table.
        rest: returns those of the rows that stay.
        base: the columns of the table.
    """
    session = delta.session
    columns = [quoted(field.name) for field in base.fields]
    with temporary_view(session, "held") as held:
        delta.batch_view(location, {0: [*paths]}, held)
        with temporary_view(session, "staying", rest(session.table(held)).select(*columns)) as staying:
            return delta.stage(location, f"SELECT * FROM {staying}", base)
