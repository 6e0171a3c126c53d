"""Rows of CSV, JSON-lines and Parquet files, with what does not fit marked instead of lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

#: Why a row cannot enter the table; null for good rows.
BAD = "_bad"
#: A bad row's text as it stood in the file.
RAW = "_raw"
#: Whether a row may show that its whole file was misread, which only a look at the file's bytes can tell.
SUSPECT = "_suspect"

#: A quote that is never closed swallows lines; bytes that are not UTF-8 become the replacement character.
_SUSPICIOUS = "[\\n\\r\ufffd]"
_CORRUPT = "_corrupt_record"


def read_group(
    session: SparkSession, format: str, paths: Sequence[str], header: Sequence[str], types: Mapping[str, str]
) -> DataFrame:
    """The rows of files of one format and, for CSV, one header.

    Args:
        session: Spark.
        format: ``csv``, ``json`` or ``parquet``.
        paths: plain ``s3a://`` paths.
        header: a CSV group's columns in file order.
        types: SQL types of the table's data columns.

    Returns:
        The columns of ``types``, and ``_path``, ``_bad``, ``_raw``, ``_suspect``.
    """
    reader = {"csv": _csv, "json": _json, "parquet": _parquet}[format]
    return reader(session, list(paths), header, types)


def _csv(session: SparkSession, paths: list[str], header: Sequence[str], types: Mapping[str, str]) -> DataFrame:
    """Spark matches CSV columns by position, so the schema is in this header's order.

    Quoting is RFC 4180's: Spark's default escape, a backslash, misreads doubled quotes without a word.
    """
    spelled = {name.lower(): name for name in types}
    names = [spelled.get(name.lower(), name) for name in header]
    ddl = ", ".join(f"`{name}` {types.get(name, 'string')}" for name in names)
    frame = session.read.csv(
        paths,
        schema=f"{ddl}, `{_CORRUPT}` string",
        header=True,
        mode="PERMISSIVE",
        escape='"',
        multiLine=True,
        columnNameOfCorruptRecord=_CORRUPT,
    )
    columns = [
        F.col(f"`{name}`") if name in names else F.lit(None).cast(kind).alias(name) for name, kind in types.items()
    ]
    bad = F.when(F.col(_CORRUPT).isNotNull(), F.lit("wrong number of cells, or a value of another type"))
    texts = [F.col(f"`{name}`") for name in names if types.get(name, "string") == "string"]
    return frame.select(
        *columns,
        F.col("_metadata.file_path").alias("_path"),
        bad.alias(BAD),
        F.col(_CORRUPT).alias(RAW),
        F.concat_ws("", *texts, _CORRUPT).rlike(_SUSPICIOUS).alias(SUSPECT),
    )


def _json(session: SparkSession, paths: list[str], header: Sequence[str], types: Mapping[str, str]) -> DataFrame:
    """Lines are parsed one by one, so that a field that the table does not have is seen instead of dropped.

    Spark's parser stops after a line's first value; whether more follows is seen by counting an array of the line.
    """
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    lines = session.read.text(paths).select("value", F.col("_metadata.file_path").alias("_path"))
    parsed = lines.where(F.trim("value") != "").withColumns(
        {
            "_keys": F.json_object_keys("value"),
            "_alone": F.json_array_length(F.concat(F.lit("["), "value", F.lit("]"))).eqNullSafe(1),
            "_row": F.from_json(
                "value",
                f"{ddl}, `{_CORRUPT}` string",
                {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT},
            ),
        }
    )
    unknown = F.concat(*_unknown_fields(F.col("value"), "", _nesting(session, types)))
    # Spark's parser puts a replacement character for such bytes, without a word.
    utf8 = F.is_valid_utf8("value")
    bad = (
        F.when(~utf8, F.lit("not UTF-8; its bytes are here in base64"))
        .when(F.col("_keys").isNull(), F.lit("not a JSON object"))
        .when(~F.col("_alone"), F.lit("more than one JSON object in a line"))
        .when(
            F.size(unknown) > 0,
            F.concat(
                F.lit("fields that are not in the table; schema evolution is not enabled: "),
                F.concat_ws(", ", unknown),
            ),
        )
        .when(F.col(f"_row.{_CORRUPT}").isNotNull(), F.lit("a value of another type than its column"))
    )
    return parsed.select(
        *[F.col(f"_row.`{name}`").alias(name) for name in types],
        "_path",
        bad.alias(BAD),
        F.when(bad.isNotNull(), F.when(utf8, F.col("value")).otherwise(F.base64("value"))).alias(RAW),
        F.lit(False).alias(SUSPECT),
    )


def _nesting(session: SparkSession, types: Mapping[str, str]) -> StructType:
    """The columns' names, and the types of those that have fields: to parse a type is a request to Spark."""
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in types.items() if "struct" in kind.lower())
    nested = {field.name: field.dataType for field in session.createDataFrame([], ddl).schema} if ddl else {}
    return StructType([StructField(name, nested.get(name, StringType())) for name in types])


def _unknown_fields(json: Column, path: str, struct: StructType) -> Iterator[Column]:
    """Arrays of the names that a JSON object has and a struct has not, at every depth: Spark's parser drops them."""
    names = F.array(*[F.lit(field.name) for field in struct])
    found = F.array_except(F.json_object_keys(json), names)
    yield F.coalesce(F.transform(found, lambda name: F.concat(F.lit(path), name)), F.array().cast("array<string>"))
    for field in struct:
        below = f"{path}{field.name}."
        value = F.from_json(json, StructType([StructField(field.name, StringType())]))[field.name]
        if isinstance(field.dataType, StructType):
            yield from _unknown_fields(value, below, field.dataType)
        elif isinstance(field.dataType, ArrayType) and isinstance(field.dataType.elementType, StructType):
            yield _unknown_in_elements(value, below, field.dataType.elementType)


def _unknown_in_elements(json: Column, path: str, struct: StructType) -> Column:
    elements = F.from_json(json, ArrayType(StringType()))
    nothing = F.array().cast("array<string>")
    return F.coalesce(
        F.flatten(F.transform(elements, lambda one: F.concat(*_unknown_fields(one, path, struct)))), nothing
    )


def _parquet(session: SparkSession, paths: list[str], header: Sequence[str], types: Mapping[str, str]) -> DataFrame:
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    nothing = F.lit(None).cast("string")
    return (
        session.read.schema(ddl)
        .parquet(*paths)
        .select(
            *[F.col(f"`{name}`") for name in types],
            F.col("_metadata.file_path").alias("_path"),
            nothing.alias(BAD),
            nothing.alias(RAW),
            F.lit(False).alias(SUSPECT),
        )
    )
