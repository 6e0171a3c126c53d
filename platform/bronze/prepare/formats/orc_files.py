"""ORC files of loaded tables."""

from __future__ import annotations

from tidegate.platform.bronze.prepare.formats.declared_columns import DeclaredColumns
from tidegate.platform.core.keys.file_format import FORMATS


class Orc(DeclaredColumns):
    """ORC, as `OrcFiles` of platform/jvm reads it."""

    file_format = FORMATS["orc"]
    readers = ("orc",)
