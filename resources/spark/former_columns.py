"""The columns that a table had once, by the history of its log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pyspark.sql import SparkSession

from tidegate.platform.core.schema.sql_literal import delta_table

#: A name in a path of columns.
_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def former_columns(session: SparkSession, location: str) -> set[tuple[str, ...]]:
    """Returns the paths of the columns that someone dropped from a table or renamed."""
    rows = session.sql(f"DESCRIBE HISTORY {delta_table(location)}").select("operation", "operationParameters")
    found = set()
    for operation, parameters in rows.where("operation IN ('DROP COLUMNS', 'RENAME COLUMN')").collect():
        names = json.loads(parameters["columns"]) if operation == "DROP COLUMNS" else [parameters["oldColumnPath"]]
        found |= {tuple(_parts(name)) for name in names}
    return found


def _parts(path: str) -> Iterator[str]:
    """Yields the names of a path as Delta's history writes it. Names with other characters are in backticks."""
    for quoted_part, part in _PART.findall(path):
        yield quoted_part.replace("``", "`") or part
