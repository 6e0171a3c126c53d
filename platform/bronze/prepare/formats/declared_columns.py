"""Formats whose files declare their columns. By default the Spark server reads the columns from them.

Avro and ORC are nothing else. Parquet is one, too, and has a module of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.errors import PySparkException

from tidegate.platform.bronze.prepare.file_access import FileAccess, ServerWatch
from tidegate.platform.bronze.prepare.formats.format import Format, Known, SourceFile
from tidegate.platform.bronze.prepare.load.server_losses import require_server, sets_to_read
from tidegate.platform.bronze.prepared_batch import PreparedBatch
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.core.errors import Misfit
from tidegate.platform.core.keys.file_format import FORMATS
from tidegate.platform.core.schema.column_types import Field, fold_name
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.bucket import Bucket
from tidegate.platform.lake.spark.delta import Delta


class DeclaredColumns(Format):
    """A format whose files declare their columns. No row of a file that can be read is bad."""

    def add_declared_columns(
        self, access: FileAccess, files: Sequence[SourceFile], prepared: PreparedBatch
    ) -> list[SourceFile]:
        """Return the files with their columns.

        A file that cannot be read is quarantined, or deferred if it changed meanwhile.
        """
        found: dict[str, list[Field] | str] = {}
        for file_set in sets_to_read(prepared.plan, files):
            found |= self._columns(access.server, file_set)
        readable = []
        for file in files:
            columns = found[file.path]
            if not isinstance(columns, str):
                readable.append(replace(file, fields=tuple(columns)))
            elif file.body is None and _has_changed(access.source, file):
                prepared.defer(file.candidate)
            else:
                prepared.quarantine(file.candidate, columns)
        return readable

    def _columns(self, server: ServerWatch, files: Sequence[SourceFile]) -> dict[str, list[Field] | str]:
        try:
            return server.delta.file_columns({"reader": self.readers[0], "files": [file.place() for file in files]})
        except PySparkException:
            require_server(server, files)
            raise

    def check_path(self, file: SourceFile, values: Mapping[str, str | None]) -> None:
        """Refuse a column that is in the file and in its path: only the rows could prove that both are equal."""
        both = {fold_name(name) for name in values} & {fold_name(field.name) for field in file.fields or ()}
        if both:
            raise Misfit(f"column {min(both)} is in the file and in its path; leave it out of the file")

    def infer(self, delta: Delta, groups: Sequence[Sequence[SourceFile]], spec: TableSpec, known: Known) -> list[Field]:
        """Return none: the schema has the columns that files declare."""
        return []

    def read(self, files: Sequence[SourceFile], schema: TableSchema, spec: TableSpec) -> dict[str, Any]:
        """Return the name of the reader. Columns that a file does not have are null."""
        return {"reader": self.readers[0]}


def _has_changed(source: Bucket, file: SourceFile) -> bool:
    """Return whether the object changed since the look, so that Spark may have read two objects as one."""
    probe = source.head(file.candidate.key)
    return not isinstance(probe, S3Found) or probe.etag != file.candidate.found.etag


class Avro(DeclaredColumns):
    """Avro, as `AvroFiles` of platform/jvm reads it."""

    file_format = FORMATS["avro"]
    readers = ("avro",)


class Orc(DeclaredColumns):
    """ORC, as `OrcFiles` of platform/jvm reads it."""

    file_format = FORMATS["orc"]
    readers = ("orc",)
