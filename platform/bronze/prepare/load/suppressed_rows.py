"""What a load leaves out: the rows of subjects that were forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.delta import Delta
from tidegate.platform.lake.spark.temporary_view import temporary_view
from tidegate.platform.lake.suppression import Suppression


@contextmanager
def stage_suppressed(delta: Delta, suppression: Suppression | None, schema: TableSchema) -> Iterator[dict[str, Any]]:
    """Yield what the server must leave out (a part of `LoadRequest` of platform/jvm).

    Args:
        suppression: its suppression list.
        schema: the columns that the table will have.

    Raises:
        DataError: a subject has a type whose values do not have one text.
    """
    if suppression is None:
        yield {}
        return
    paths, sides = suppression.paths(schema.columns), suppression.side_paths(schema.columns)
    session = delta.session
    with temporary_view(session, "suppressed", suppression.rows(session)) as view:
        yield {"suppressed": {"view": view, "paths": paths, "sides": sides}}
