"""Parquet files of an output: their rows stay as they are, whatever Spark would make of them."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.formats.parquet_files import Parquet
from tidegate.platform.bronze.prepared import PreparedBatch
from tidegate.platform.lake.lake import Table


class ParquetObjects(Parquet):
    """Parquet whose footers are read by the server that puts files together. No file is copied first."""

    def declared(self, table: Table, files: Sequence[SourceFile], prepared: PreparedBatch) -> list[SourceFile]:
        """Return the files unchanged: their columns are no columns of a table."""
        return list(files)

    def rewritten_copy(self, table: Table, file: SourceFile) -> SourceFile | None:
        """Return None: a copy would have other types."""
        return None
