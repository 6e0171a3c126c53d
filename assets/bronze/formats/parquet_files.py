"""Parquet files of loaded tables."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.assets.bronze.formats.format import BAD, IN_FILE, PATH, RAW, SUSPECT, UNKNOWN, Format, SourceFile
from tidegate.platform.core.schema.column_types import Field, quoted
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.table_spec import TableSpec


class Parquet(Format):
    """Parquet: the footer has said everything before, so no row of it is bad."""

    name = "parquet"

    def infer(self, session: SparkSession, files: Sequence[SourceFile], spec: TableSpec) -> list[Field]:
        """The columns of the files' footers."""
        return [field for file in files if file.footer for field in file.footer.fields]

    def read(
        self, session: SparkSession, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec
    ) -> DataFrame:
        """Columns that a file does not have are null."""
        nothing = F.lit(None).cast("string")
        return (
            session.read.schema(schema.sql())
            .parquet(*[file.path for file in files])
            .select(
                *[F.col(quoted(field.name)) for field in schema.columns],
                F.col("_metadata.file_path").alias(PATH),
                nothing.alias(BAD),
                nothing.alias(RAW),
                F.lit(False).alias(SUSPECT),
                F.lit(False).alias(UNKNOWN),
                *[nothing.alias(f"{IN_FILE}{index}") for index in range(len(schema.partitions))],
            )
        )
