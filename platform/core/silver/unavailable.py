"""The values that stand for a value that did not change, in columns of several types."""

from __future__ import annotations

import base64
import hashlib
import uuid

from tidegate.platform.core.schema.column_types import WHOLE, Array, Map, Simple, Type
from tidegate.platform.core.schema.sql_literal import literal

_TEXT = Simple("string")


def unavailable(placeholder: str | None, kind: Type, value: str) -> str | None:
    """Returns the SQL condition that a value is the placeholder. None if no value of the type can be.

    Debezium writes the placeholder as text or bytes. An array has it as the only item, an array of UUIDs has the UUID
    that Java makes of its bytes, an array of whole numbers has its bytes, and a map has it as the only key
    (`UnchangedToastedPlaceholder` of its connector for PostgreSQL).

    Args:
        placeholder: `unavailable` of `silver`.
        kind: type of the value, before it is decoded.
        value: SQL of the value.
    """
    if placeholder is None:
        return None
    text, encoded = literal(placeholder), literal(base64.b64encode(placeholder.encode()).decode())
    match kind:
        case Simple("string"):
            return f"{value} IN ({text}, {encoded})"
        case Simple("binary"):
            return f"{value} = CAST({text} AS BINARY)"
        case Array(item) if item == _TEXT:
            digest = hashlib.md5(placeholder.encode(), usedforsecurity=False).digest()
            return f"{value} IN (array({text}), array({encoded}), array('{uuid.UUID(bytes=digest, version=3)}'))"
        case Array(Simple("binary")):
            return f"{value} = array(CAST({text} AS BINARY))"
        case Array(item) if item in WHOLE:
            numbers = ", ".join(map(str, placeholder.encode()))
            return f"{value} = CAST(array({numbers}) AS {kind.sql()})"
        case Map(key, _) if key == _TEXT:
            return f"map_keys({value}) = array({text})"
    return None
