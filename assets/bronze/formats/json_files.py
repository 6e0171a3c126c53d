"""JSON files: one object a line, with what does not fit marked instead of lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidegate.assets.bronze.formats.format import (
    BAD,
    IN_FILE,
    PATH,
    RAW,
    SUSPECT,
    UNKNOWN,
    Format,
    Look,
    SourceFile,
    refusal,
)
from tidegate.assets.bronze.formats.json_shape import OneObjectALine, needs_rewrite
from tidegate.assets.bronze.formats.json_values import misread, texts
from tidegate.platform.core.schema.column_types import Array, Field, Simple, Struct, Type, field_from_json
from tidegate.platform.core.schema.names import usable
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.table_spec import TableSpec

_CORRUPT = "_tidegate_corrupt"
_TEXT = Simple("string")
#: Arrays and objects without a value in them.
_EMPTY = r"^\s*[\[{]([\[\]{},\s]|null)*$"


class Json(Format):
    """JSON lines; what is JSON in another shape is rewritten as lines first."""

    name = "json"

    def look(self, head: bytes, whole: bool, spec: TableSpec) -> Look:
        """Whether the file is one object a line."""
        return Look(rewrite=OneObjectALine() if needs_rewrite(head, whole=whole) else None)

    def infer(self, session: SparkSession, files: Sequence[SourceFile], spec: TableSpec) -> list[Field]:
        """The columns of all objects; what is null everywhere has no type yet and is left out."""
        paths = [file.path for file in files]
        schema = session.read.json(paths, columnNameOfCorruptRecord=_CORRUPT, dropFieldIfAllNull=True).schema
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
                F.coalesce(F.bool_or(misread(F.col("row")[one.name], F.col("texts")[one.name], one.type)), F.lit(False))
                for one in floating
            ]
        ).collect()[0]
        texts = {field.name for field, is_lost in zip(floating, lost, strict=True) if is_lost}
        return [Field(field.name, _TEXT) if field.name in texts else field for field in fields]

    def read(
        self, session: SparkSession, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec
    ) -> DataFrame:
        """Lines are parsed one by one, so that a field that the table does not have is seen instead of dropped.

        Spark's parser stops after a line's first value; whether more follows is seen by counting an array of the line.
        """
        columns = schema.columns
        row = StructType.fromJson(_json([*columns, Field(_CORRUPT, _TEXT)]))
        lines = session.read.text([file.path for file in files]).select(
            "value", F.col("_metadata.file_path").alias(PATH)
        )
        parsed = lines.where(F.trim("value") != "").withColumns(
            {
                "_keys": F.json_object_keys("value"),
                "_alone": F.json_array_length(F.concat(F.lit("["), "value", F.lit("]"))).eqNullSafe(1),
                "_row": F.from_json("value", row, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}),
                **_texts(columns),
                **({"_by_name": F.from_json("value", "map<string,string>")} if schema.partitions else {}),
            }
        )
        unknown = F.concat(*_unknown_fields(F.col("value"), "", schema.fields))
        # Spark's parser puts a replacement character for such bytes, without a word.
        utf8 = F.is_valid_utf8("value")
        wrong = (
            F.when(~utf8, F.lit("not UTF-8; its bytes are here in base64"))
            .when(F.col("_keys").isNull(), F.lit("not a JSON object; write one a line"))
            .when(~F.col("_alone"), F.lit("more than one JSON object in a line"))
        )
        changed = [
            F.when(misread(F.col("_row")[field.name], F.col("_texts")[field.name], field.type), F.lit(field.name))
            for field in columns
            if texts(field.type) is not None
        ]
        mistyped = F.when(F.col("_row")[_CORRUPT].isNotNull(), F.lit("a value of another type than its column")).when(
            F.coalesce(*changed, F.lit(None)).isNotNull() if changed else F.lit(False),
            F.concat(F.lit("a value that its column would change: "), F.coalesce(*changed, F.lit(""))),
        )
        surplus = F.when(F.size(unknown) > 0, F.concat(F.lit(f"{refusal(spec.policy)}: "), F.concat_ws(", ", unknown)))
        bad = F.coalesce(wrong, surplus, mistyped)
        return parsed.select(
            *[F.col("_row")[field.name].alias(field.name) for field in columns],
            PATH,
            bad.alias(BAD),
            F.when(bad.isNotNull(), F.when(utf8, F.col("value")).otherwise(F.base64("value"))).alias(RAW),
            F.lit(False).alias(SUSPECT),
            (wrong.isNull() & surplus.isNotNull()).alias(UNKNOWN),
            *[
                F.col("_by_name")[field.name].alias(f"{IN_FILE}{index}")
                for index, field in enumerate(schema.partition_fields)
            ],
        )


def _texts(columns: Sequence[Field]) -> dict[str, Column]:
    """The values that their types could change, once more as they stand."""
    found = [Field(field.name, kind) for field in columns if (kind := texts(field.type)) is not None]
    if not found:
        return {}
    return {"_texts": F.from_json("value", StructType.fromJson(_json(found)), {"mode": "PERMISSIVE"})}


def _unknown_fields(json: Column, path: str, fields: Sequence[Field]) -> Iterator[Column]:
    """Arrays of the names with values that a JSON object has and a struct has not, at every depth.

    Spark's parser would drop them.
    """
    names = F.array(*[F.lit(field.name) for field in fields]) if fields else F.array().cast("array<string>")
    # What holds nothing has no type, and nothing of it is lost.
    valued = F.map_filter(
        F.from_json(json, "map<string,string>"), lambda _, value: value.isNotNull() & ~value.rlike(_EMPTY)
    )
    found = F.array_except(F.map_keys(valued), names)
    yield F.coalesce(F.transform(found, lambda name: F.concat(F.lit(path), name)), F.array().cast("array<string>"))
    for field in fields:
        if not _has_fields(field.type):
            continue
        value = F.from_json(json, StructType.fromJson(_json([Field(field.name, _TEXT)])))[field.name]
        yield from _unknown_inside(value, f"{path}{field.name}.", field.type)


def _unknown_inside(json: Column, path: str, kind: Type) -> Iterator[Column]:
    match kind:
        case Struct(fields):
            yield from _unknown_fields(json, path, fields)
        case Array(element) if _has_fields(element):
            elements = F.from_json(json, "array<string>")
            each = F.transform(elements, lambda one: F.concat(*_unknown_inside(one, path, element)))
            yield F.coalesce(F.flatten(each), F.array().cast("array<string>"))


def _has_fields(kind: Type) -> bool:
    return isinstance(kind, Struct) or (isinstance(kind, Array) and _has_fields(kind.element))


def _body(schema: StructType) -> dict[str, Any]:
    body: dict[str, Any] = schema.jsonValue()
    return body


def _json(fields: Sequence[Field]) -> dict[str, Any]:
    return {"type": "struct", "fields": [Field(field.name, field.type).json() for field in fields]}
