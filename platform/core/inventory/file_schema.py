"""The columns in `fileSchema` of a manifest, which each format of S3 Inventory writes in its own way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

InventoryFormat = Literal["csv", "orc", "parquet"]

#: ORC's types that SQL has under the same name, and whose values have a text.
_ORC = re.compile(
    r"boolean|tinyint|smallint|int|bigint|float|double|string|binary|date"
    r"|decimal\(\d+,\d+\)|(?:var)?char\(\d+\)"
)
#: SQL types of Parquet's, by their annotations.
_PARQUET = (
    (re.compile(r"int64 TIMESTAMP(_|\()(MILLIS|MICROS).*|int96 "), "timestamp"),
    (re.compile(r"int32 DATE"), "date"),
    (re.compile(r"binary (UTF8|STRING|ENUM|JSON)"), "string"),
    (re.compile(r"binary "), "binary"),
    (re.compile(r"boolean "), "boolean"),
    (re.compile(r"int32 (INT_?\(?(8|16|32).*)?"), "int"),
    (re.compile(r"int64 (INT_?\(?64.*)?"), "bigint"),
    (re.compile(r"float "), "float"),
    (re.compile(r"double "), "double"),
)
_PARQUET_FIELD = re.compile(
    r"(?P<repeats>required|optional|repeated)\s+(?P<type>\w+(?:\(\d+\))?)\s+(?P<name>\w+)"
    r"(?:\s*\((?P<as>[^;{]*)\))?(?:\s*=\s*\d+)?\s*(?P<group>\{)?.*",
    re.DOTALL,
)


class Column(NamedTuple):
    """A column of an inventory's files.

    Attributes:
        name: its name there.
        type: its type, as the manifest has it.
        sql: the SQL type of its values. Empty: its values have no text.
    """

    name: str
    type: str
    sql: str


def columns_of(format: InventoryFormat, schema: str) -> list[Column]:
    """Return the columns of a `fileSchema`. Fields of structs, lists and maps are none."""
    match format:
        case "csv":
            return [Column(name, "string", "string") for name in re.findall(r"[^,\s]+", schema)]
        case "orc":
            parts = _parts(schema.strip().removeprefix("struct<").removesuffix(">"), ",", "<(", ">)")
            return [_orc(*map(str.strip, part.partition(":")[::2])) for part in parts if ":" in part]
        case "parquet":
            parts = _parts(schema.partition("{")[2].rpartition("}")[0], ";", "{", "}")
            found = (_PARQUET_FIELD.fullmatch(part.strip()) for part in parts)
            return [_parquet(field) for field in found if field]


def _orc(name: str, kind: str) -> Column:
    kind = re.sub(r"(?<=[(),<>:])\s+|(?<!\s)\s++(?=[(),<>:])", "", kind.lower())
    sql = "timestamp" if kind in ("timestamp", "timestamp with local time zone") else kind
    return Column(name, kind, sql if sql == "timestamp" or _ORC.fullmatch(sql) else "")


def _parquet(field: re.Match[str]) -> Column:
    annotation = field["as"] or ""
    kind = f"{field['type']} {annotation}"
    if field["group"] or field["repeats"] == "repeated":
        sql = ""
    else:
        sql = next((sql for pattern, sql in _PARQUET if pattern.fullmatch(kind)), "")
    return Column(field["name"], f"{field['type']} ({annotation})" if annotation else field["type"], sql)


def _parts(text: str, end: str, opens: str, closes: str) -> Iterator[str]:
    """Yield the parts of a text between `end`s that no bracket encloses. A closed brace ends a part, too."""
    depth, part = 0, ""
    for character in text:
        depth += (character in opens) - (character in closes)
        if depth == 0 and character in (end, "}"):
            yield part
            part = ""
        else:
            part += character
    yield part
