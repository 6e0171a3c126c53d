"""The schema of an Avro file: its columns as `AvroFiles` of platform/jvm reads them, and what it states of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tidegate.platform.core.errors import BadValue
from tidegate.platform.core.foreign_json import require_few_levels, require_few_values
from tidegate.platform.core.infer.file_metadata import StatedColumn, connect_type, row_of_change, text_of
from tidegate.platform.core.schema.column_types import (
    MAX_DIGITS,
    MAX_LEVELS,
    Array,
    Decimal,
    Field,
    Map,
    Simple,
    Struct,
    Type,
)
from tidegate.platform.core.schema.names import MAX_FIELDS
from tidegate.platform.core.schema.untyped_parts import UNTYPED, typed_fields, typed_or_text

#: Bytes at the beginning of a file that hold its schema.
HEAD_BYTES = 1 << 20
#: Names of the schema in the footer of a Parquet file, newest first.
_IN_FOOTER = (b"parquet.avro.schema", b"avro.schema")
_MAGIC, _SCHEMA = b"Obj\x01", b"avro.schema"
_SIMPLE = {
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "enum": "string",
    "bytes": "binary",
    "fixed": "binary",
}
#: The type of a column by its logical type, with the types beneath that may have it.
_LOGICAL: Mapping[str, tuple[str, Sequence[str]]] = {
    "date": ("date", ("int",)),
    "time-millis": ("string", ("int",)),
    "time-micros": ("string", ("long",)),
    "uuid": ("string", ("string", "fixed")),
    **{f"timestamp-{unit}": ("timestamp", ("long",)) for unit in ("millis", "micros", "nanos")},
    **{f"local-timestamp-{unit}": ("timestamp_ntz", ("long",)) for unit in ("millis", "micros", "nanos")},
}
_NO_TYPE = {"big-decimal": ("bytes",), "duration": ("fixed",)}


def schema_of_file(head: bytes) -> AvroSchema:
    """Return the schema in the header of an Avro file.

    Args:
        head: the first bytes of the file, at least its header.

    Raises:
        BadValue: they are not such a header. The message is the problem.
    """
    if not head.startswith(_MAGIC):
        raise BadValue("truncated or not Avro: it does not begin as an Avro file")
    try:
        return AvroSchema(_parse_schema(_metadata(head)[_SCHEMA]))
    except (KeyError, IndexError, ValueError):
        raise BadValue("truncated or not Avro: no schema is in its header") from None


def read_stated_columns(metadata: Mapping[bytes, bytes]) -> dict[str, StatedColumn]:
    """Return what a Parquet file states of the columns of its rows, if they were rows of Avro before.

    Args:
        metadata: what the writer of the file wrote into its footer.
    """
    schema = next((metadata[name] for name in _IN_FOOTER if name in metadata), None)
    try:
        return {} if schema is None else AvroSchema(_parse_schema(schema)).stated_columns()
    except ValueError:
        return {}


def _parse_schema(schema: bytes) -> Any:
    text = schema.decode()
    require_few_values(text)
    require_few_levels(text)
    return json.loads(text)


class AvroSchema:
    """A schema of Avro.

    Args:
        schema: as in JSON.
    """

    def __init__(self, schema: Any) -> None:
        self._named: dict[str, Any] = {}
        self._register(schema)
        self._schema = schema

    def columns(self) -> list[Field]:
        """Return the columns that have a type.

        Raises:
            BadValue: the rows are not records, or a type has no type in a table. The message is the problem.
        """
        # A type that has a name may be used twice at each level, so fields are counted while they are made.
        self._fields_left = MAX_FIELDS
        kind = self._type(self._schema, "", ())
        if not isinstance(kind, Struct):
            raise BadValue("its rows are not records; write them as records")
        return list(typed_fields(kind.fields))

    def stated_columns(self) -> dict[str, StatedColumn]:
        """Return what the schema states of the columns of the row, by name."""
        return {
            field["name"]: self._stated_column(field) for field in row_of_change(self._schema, "name", self._fields)
        }

    def _stated_column(self, field: Mapping[str, Any]) -> StatedColumn:
        kind = self._single_schema(field.get("type"))
        text = text_of(field.get("doc"))
        if not isinstance(kind, Mapping):
            return StatedColumn(text=text)
        name, encoding = connect_type(str(kind.get("connect.name") or ""), "", kind.get("connect.parameters"))
        return StatedColumn(name, encoding, text or text_of(kind.get("connect.doc")))

    def _register(self, schema: Any) -> None:
        match schema:
            case [*members]:
                for member in members:
                    self._register(member)
            case {"type": kind, **rest}:
                if isinstance(name := rest.get("name"), str) and kind in ("record", "enum", "fixed"):
                    self._named[f"{rest.get('namespace', '')}.{name}"] = self._named[name] = schema
                    # A name without its namespace is that of the record around it.
                    self._named.setdefault(name.rsplit(".", 1)[-1], schema)
                for inner in (kind, rest.get("items"), rest.get("values"), *(self._inner_schemas(rest))):
                    self._register(inner)

    @staticmethod
    def _inner_schemas(schema: Mapping[Any, Any]) -> list[Any]:
        fields = schema.get("fields")
        return [field.get("type") for field in fields if isinstance(field, Mapping)] if isinstance(fields, list) else []

    def _single_schema(self, schema: Any) -> Any:
        """Return the schema of the values that are not null, as JSON; a union if it has several."""
        if isinstance(schema, list):
            members = [member for member in schema if member != "null"]
            return self._single_schema(members[0]) if len(members) == 1 else members
        if isinstance(schema, str):
            found = self._named.get(schema) or self._named.get(schema.rsplit(".", 1)[-1])
            return found or {"type": schema}
        if isinstance(schema, Mapping) and isinstance(schema.get("type"), list | Mapping):
            return self._single_schema(schema["type"])
        return schema

    def _fields(self, schema: Any) -> list[Mapping[str, Any]]:
        record = self._single_schema(
            schema.get("type") if isinstance(schema, Mapping) and "fields" not in schema else schema
        )
        fields = record.get("fields") if isinstance(record, Mapping) else None
        if not isinstance(fields, list):
            return []
        return [field for field in fields if isinstance(field, Mapping) and isinstance(field.get("name"), str)]

    def _type(self, schema: Any, path: str, around: tuple[str, ...]) -> Type:
        item = self._single_schema(schema)
        if isinstance(item, list):
            return self._union(item, path, around)
        kind = item.get("type") if isinstance(item, Mapping) else None
        if kind == "null" or kind is None:
            return UNTYPED
        if found := _logical_type(item, kind, path):
            return found
        match kind:
            case "record":
                return self._record(item, path, around)
            case "array":
                return Array(self._element(item.get("items"), path, around))
            case "map":
                return Map(Simple("string"), self._element(item.get("values"), path, around))
        if kind not in _SIMPLE:
            raise BadValue(f"column {path} has the type {kind!r}, which Avro does not have; write it again")
        return Simple(_SIMPLE[kind])

    def _record(self, record: Any, path: str, around: tuple[str, ...]) -> Type:
        name = str(record.get("name"))
        if name in around:
            raise BadValue(f"column {path} holds the record {name} within itself; write deeper parts as text")
        found, within = [], _names_around(name, path, around)
        for field in self._fields(record):
            inner = f"{path}.{field['name']}" if path else field["name"]
            self._count(inner)
            found.append(Field(field["name"], self._type(field.get("type"), inner, within)))
        return Struct(tuple(found))

    def _count(self, path: str) -> None:
        self._fields_left -= 1
        if self._fields_left < 0:
            raise BadValue(
                f"it declares more than {MAX_FIELDS:,} fields, nested ones too, and column {path} is the next; write "
                "parts of it as text"
            )

    def _element(self, schema: Any, path: str, around: tuple[str, ...]) -> Type:
        return self._type(schema, f"{path}[]", _names_around("[]", path, around))

    def _union(self, members: Sequence[Any], path: str, around: tuple[str, ...]) -> Type:
        plain = [self._single_schema(member) for member in members]
        if not plain:
            return UNTYPED
        for numbers in (["int", "long"], ["float", "double"]):
            if sorted(map(str, members)) == numbers:
                return Simple(_SIMPLE[numbers[1]])
        fields, within = [], _names_around("", path, around)
        for member in plain:
            name = f"member_{str(member.get('name') or member.get('type')).rsplit('.', 1)[-1].lower()}"
            self._count(f"{path}.{name}")
            kind = self._type(member, f"{path}.{name}", within)
            if kind == Struct(()):
                raise BadValue(
                    f"column {path}.{name} is a record without fields, so nothing would show that a value is one; "
                    "write it with a field"
                )
            fields.append(Field(name, typed_or_text(kind)))
        return Struct(tuple(fields))


def _names_around(name: str, path: str, around: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of what is around the values in a record, array, map or union.

    Raises:
        BadValue: it is nested deeper than a column can be. The row is a level, too.
    """
    if len(around) > MAX_LEVELS:
        raise BadValue(f"column {path} is nested deeper than {MAX_LEVELS} levels; write deeper parts as text")
    return (*around, name)


def _logical_type(schema: Mapping[str, Any], kind: str, path: str) -> Type | None:
    """Return the type of a logical type; None if there is none, or if Avro does not have it on such a type."""
    name = schema.get("logicalType")
    if name == "decimal" and kind in ("bytes", "fixed"):
        digits, scale = schema.get("precision"), schema.get("scale", 0)
        if not isinstance(digits, int) or not isinstance(scale, int) or not 0 <= scale <= digits:
            return None
        if digits > MAX_DIGITS:
            raise BadValue(
                f"column {path} has decimals of {digits} digits, and a table's have {MAX_DIGITS}; write it as text"
            )
        return Decimal(digits, scale)
    if kind in _NO_TYPE.get(str(name), ()):
        raise BadValue(f"column {path} is a {name}, whose values no type of a table holds; write it as text")
    found, beneath = _LOGICAL.get(str(name), ("", ()))
    return Simple(found) if kind in beneath else None


def _metadata(head: bytes) -> dict[bytes, bytes]:
    """Return the metadata in the header of a file, up to the schema."""
    place = len(_MAGIC)

    def number() -> int:
        nonlocal place
        shift = value = 0
        while True:
            byte = head[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)

    def piece() -> bytes:
        nonlocal place
        length = number()
        if not 0 <= length <= len(head) - place:
            raise IndexError
        place += length
        return head[place - length : place]

    found: dict[bytes, bytes] = {}
    while _SCHEMA not in found and (count := number()):
        if count < 0:
            number()
        for _ in range(abs(count)):
            name = piece()
            found[name] = piece()
    return found
