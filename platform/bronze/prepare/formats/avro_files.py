"""Avro files of loaded tables."""

from __future__ import annotations

from tidegate.platform.bronze.prepare.formats.declared_columns import DeclaredColumns
from tidegate.platform.core.infer.avro_schema import HEAD_BYTES, schema_of_file
from tidegate.platform.core.infer.sniff import FileSample, SniffedFile, check_names
from tidegate.platform.core.keys.file_format import FORMATS


class Avro(DeclaredColumns):
    """Avro, as `AvroFiles` of platform/jvm reads it."""

    file_format = FORMATS["avro"]
    readers = ("avro",)

    def sniff(self, sample: FileSample) -> SniffedFile:
        """Return the columns that the schema in the header declares, and problems of their names."""
        schema = schema_of_file(sample.first_bytes(HEAD_BYTES))
        columns = {field.name: field.type.sql() for field in schema.columns()}
        return SniffedFile(columns, problems=check_names(list(columns), loaded=True), stated=schema.stated())
