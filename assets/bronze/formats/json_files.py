"""JSON files: one object a line, with what does not fit marked instead of lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidegate.assets.bronze.formats.format import Format, Look, SourceFile, refusal
from tidegate.assets.bronze.formats.json_shape import OneObjectALine, needs_rewrite
from tidegate.assets.bronze.formats.json_values import check_keys, rounded
from tidegate.platform.core.schema.column_types import MOST_LEVELS, Field, Simple, field_from_json
from tidegate.platform.core.schema.names import usable
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.table_spec import TableSpec
from tidegate.resources.delta import Delta

_CORRUPT = "_tidegate_corrupt"
_TEXT = Simple("string")


class Json(Format):
    """JSON lines; what is JSON in another shape is rewritten as lines first."""

    name = "json"

    def look(self, head: bytes, whole: bool, spec: TableSpec) -> Look:
        """Whether the file is one object a line."""
        return Look(rewrite=OneObjectALine() if needs_rewrite(head, whole=whole) else None)

    def infer(self, delta: Delta, files: Sequence[SourceFile], spec: TableSpec) -> list[Field]:
        """The columns of all objects; what is null everywhere has no type yet and is left out.

        Objects that are nested deeper than a table can be say nothing; their rows will be refused.
        """
        session, paths = delta.session, [file.path for file in files]
        reader = session.read.option("maxNestingDepth", MOST_LEVELS + 1)  # the row itself is a level
        schema = reader.json(paths, columnNameOfCorruptRecord=_CORRUPT, dropFieldIfAllNull=True).schema
        fields = [field_from_json(field) for field in _body(schema)["fields"] if field["name"] != _CORRUPT]
        return self._exact(session, paths, usable(fields))

    def _exact(self, session: SparkSession, paths: Sequence[str], fields: Sequence[Field]) -> list[Field]:
        """The columns; text for one of doubles of which some value is a whole number with more digits."""
        floating = [field for field in fields if field.type == Simple("double")]
        if not floating:
            return list(fields)
        lines = session.read.text(list(paths)).select(
            F.from_json("value", StructType.fromJson(_json(floating))).alias("row"),
            F.from_json("value", StructType.fromJson(_json([Field(field.name, _TEXT) for field in floating]))).alias(
                "texts"
            ),
        )
        lost = lines.agg(
            *[
                F.coalesce(F.bool_or(rounded(F.col("row")[one.name], F.col("texts")[one.name])), F.lit(False))
                for one in floating
            ]
        ).collect()[0]
        texts = {field.name for field, is_lost in zip(floating, lost, strict=True) if is_lost}
        return [Field(field.name, _TEXT) if field.name in texts else field for field in fields]

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Spark's parser is watched, so that a field that the table does not have is seen instead of dropped.

        Raises:
            Misfit: no JSON holds a value of a column's type.
        """
        for field in schema.columns:
            check_keys(field)
        return {"reader": "json", "refusal": refusal(spec.policy)}


def _body(schema: StructType) -> dict[str, Any]:
    body: dict[str, Any] = schema.jsonValue()
    return body


def _json(fields: Sequence[Field]) -> dict[str, Any]:
    return {"type": "struct", "fields": [Field(field.name, field.type).json() for field in fields]}
