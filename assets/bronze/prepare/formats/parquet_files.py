"""Parquet files of loaded tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.assets.bronze.prepare.formats.format import Format, SourceFile
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.spark.delta import Delta


class Parquet(Format):
    """Parquet: the footer has said everything before, so no row of it is bad."""

    name = "parquet"

    def infer(self, delta: Delta, files: Sequence[SourceFile], spec: TableSpec) -> list[Field]:
        """The columns of the files' footers."""
        return [field for file in files if file.footer for field in file.footer.fields]

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Columns that a file does not have are null."""
        return {"reader": "parquet"}
