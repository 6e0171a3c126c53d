"""JSON files of a table of `schema: variant`: each object becomes one VARIANT, and brings no columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.platform.bronze.prepare.formats.format import Known, SourceFile
from tidegate.platform.bronze.prepare.formats.json_files import Json
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.events.row_queue import ROW_COLUMNS
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.spark.delta import Delta


class JsonObjects(Json):
    """JSON lines whose objects are kept whole. Only the columns that lake.yaml declares are read out of them."""

    readers = ("variant",)

    def infer(self, delta: Delta, groups: Sequence[Sequence[SourceFile]], spec: TableSpec, known: Known) -> list[Field]:
        """Return none, because new fields are in the objects."""
        return []

    def has_unnamed_columns(self, file: SourceFile, schema: TableSchema) -> bool:
        """Return False, because rows show no columns."""
        return False

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Return the reader, and which members of the lines of a row queue belong to the message and not to its body.

        Raises:
            Misfit: JSON cannot hold values of a column's type.
        """
        return {**super().read(files, schema, spec), "names": list(ROW_COLUMNS) if spec.row_queue else []}
