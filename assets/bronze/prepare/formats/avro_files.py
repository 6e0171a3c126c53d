"""Avro files of loaded tables."""

from __future__ import annotations

from tidegate.assets.bronze.prepare.formats.declared_columns import DeclaredColumns
from tidegate.platform.core.keys.file_format import FORMATS


class Avro(DeclaredColumns):
    """Avro, as `AvroFiles` of platform/jvm reads it."""

    file_format = FORMATS["avro"]
    readers = ("avro",)
