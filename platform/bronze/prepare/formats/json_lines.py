"""JSON files of an output: each object is a line that stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.platform.bronze.prepare.formats.format import SourceFile
from tidegate.platform.bronze.prepare.formats.json_files import Json
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.schema.table_schema import TableSchema


class JsonLines(Json):
    """JSON lines whose values only name the folder that a line belongs to."""

    readers = ("output",)

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Return the reader, and how it names folders."""
        output = spec.output
        assert output is not None
        return {
            **self._reader(files, spec),
            "layout": output.template.layout(output.pattern.parts if output.pattern else ()),
        }
