"""JSON files: one object a line, with what does not fit marked instead of lost."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from tidegate.assets.bronze.prepare.formats.format import Format, Look, SourceFile, refusal
from tidegate.assets.bronze.prepare.formats.json_shape import OneObjectALine, needs_rewrite
from tidegate.assets.bronze.prepare.formats.json_values import check_keys
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.keys.file_format import FORMATS
from tidegate.platform.core.schema.column_types import MAX_LEVELS, Field, field_from_json
from tidegate.platform.core.schema.names import usable
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.resources.spark.delta import Delta

#: Bytes of a first line that is looked at.
_LONGEST_FIRST = 1 << 16


class Json(Format):
    """JSON lines; what is JSON in another shape is rewritten as lines first."""

    file_format = FORMATS["json"]
    readers = ("json",)

    def look(self, head: bytes, whole: bool, spec: TableSpec) -> Look:
        """Whether the file is one object a line, and what its first one names."""
        if needs_rewrite(head, whole=whole):
            return Look(rewrite=OneObjectALine())
        return Look(names=_first_names(head))

    def infer(self, delta: Delta, files: Sequence[SourceFile], spec: TableSpec) -> list[Field]:
        """The columns of all objects; what is null everywhere has no type yet and is left out.

        A column of doubles is text if a double would change some value. Objects that are nested deeper than a table can
        be say nothing; their rows will be refused.
        """
        told = delta.infer_json({"reader": self.name, "files": [file.place() for file in files]}, MAX_LEVELS)
        return usable([field_from_json(field) for field in told["fields"]])

    def new_names(self, file: SourceFile, schema: TableSchema) -> Collection[str]:
        """None: the rows say for themselves what the table has not."""
        return ()

    def tells_more(self, file: SourceFile, schema: TableSchema) -> bool:
        """Whether lake.yaml does not name all columns of the first object."""
        return not file.names or any(schema.named(name) is None for name in file.names)

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Spark's parser is watched, so that a field that the table does not have is seen instead of dropped.

        Raises:
            Misfit: no JSON holds a value of a column's type.
        """
        for field in schema.columns:
            check_keys(field)
        return {"reader": self.readers[0], "refusal": refusal(spec.policy)}


def _first_names(head: bytes) -> tuple[str, ...]:
    """Names of the object in the first line that have a value; none where it is no object, or a long one."""
    end = head.find(b"\n", 0, _LONGEST_FIRST)
    try:
        first = json.loads(head[: end if end >= 0 else _LONGEST_FIRST])
    except (ValueError, RecursionError):
        return ()
    return tuple(name for name, value in first.items() if value is not None) if isinstance(first, dict) else ()
