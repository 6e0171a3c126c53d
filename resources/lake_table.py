"""The rows of one table of a lake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from tidegate.platform.core.schema.column_types import quoted


@dataclass(frozen=True)
class LakeTable:
    """A table by its SQL name. Each of its frames is read when Spark runs it, not before.

    Attributes:
        name: SQL name.
        sql: runs a query on the lake.
    """

    name: str
    sql: Callable[[str], DataFrame]

    @property
    def bronze(self) -> DataFrame:
        """Every row that was taken in, with `_source` and `_batch` in a table that was loaded."""
        return self._rows("bronze")

    @property
    def silver(self) -> DataFrame:
        """The merged rows: of each key the newest."""
        return self._rows("silver")

    @property
    def ledger(self) -> DataFrame:
        """The decision on each source object: its `key`, `status` and `reason` (docs/reference/tables.md)."""
        return self._rows("ledger")

    def _rows(self, schema: str) -> DataFrame:
        return self.sql(f"SELECT * FROM {schema}.{quoted(self.name)}")
