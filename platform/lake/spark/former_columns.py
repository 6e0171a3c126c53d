"""The columns that a table had once, by the history of its log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pyspark.sql import SparkSession

from tidegate.platform.core.schema.sql_literal import delta_table

#: A name in a path of columns.
_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def former_columns(session: SparkSession, location: str) -> set[tuple[str, ...]] | None:
    """Returns the paths of the columns that someone dropped from a table or renamed.

    Returns None if the log does not reach back to the table's first version: there may be more.
    """
    history = session.sql(f"DESCRIBE HISTORY {delta_table(location)}")
    changes = history.where("version = 0 OR operation IN ('DROP COLUMNS', 'RENAME COLUMN')")
    rows = changes.select("version", "operation", "operationParameters").collect()
    if all(row["version"] for row in rows):
        return None
    found = set()
    for _, operation, parameters in rows:
        match operation:
            case "DROP COLUMNS":
                found |= {tuple(_parts(name)) for name in json.loads(parameters["columns"])}
            case "RENAME COLUMN":
                found.add(tuple(_parts(parameters["oldColumnPath"])))
    return found


def _parts(path: str) -> Iterator[str]:
    """Yields the names of a path as Delta's history writes it. Names with other characters are in backticks."""
    for quoted_part, part in _PART.findall(path):
        yield quoted_part.replace("``", "`") or part
