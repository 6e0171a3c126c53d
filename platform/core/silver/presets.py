"""Presets of silver: the options that a change feed of a known kind needs, by the columns that bronze has of it.

A feed of Debezium has its order by the place in the log of the database, and a placeholder for values that did not
change.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.casts import cast
from tidegate.platform.core.schema.column_reference import is_expression, path_of, quote_path, type_at
from tidegate.platform.core.schema.column_types import (
    MAX_DIGITS,
    WHOLE,
    Array,
    Decimal,
    Field,
    Map,
    Simple,
    Struct,
    Type,
    fold_name,
    quote_name,
)
from tidegate.platform.core.schema.field_alignment import align_value
from tidegate.platform.core.schema.names import RESCUED_COLUMN
from tidegate.platform.core.schema.sql_literal import literal
from tidegate.platform.core.schema.type_union import add_missing_fields
from tidegate.platform.core.silver.expression_types import UnsuitableColumns

#: What Debezium writes in place of a large value that an update did not change.
UNAVAILABLE = "__debezium_unavailable_value"
#: Columns by which flattened rows are known.
FLAT_MARKS = {"__deleted", "__op"}
#: Fields that only the connector of MongoDB writes.
_MONGODB_MEMBERS = {"updatedescription", "patch", "filter"}
_TEXT = Simple("string")

#: SQL types of fields that rows of a snapshot have no value of, and Db2 never has of the last one. A field without a
#: value is not a column of JSON files, so that bronze has it from the first change on.
_OPTIONAL: Mapping[str, str] = {"change_lsn": "STRING", "event_serial_no": "BIGINT"}
#: How an order names a number that is a text. Silver records it so.
_NUMBER_OF, _AS_NUMBER = "CAST(", f" AS DECIMAL({MAX_DIGITS}, 0))"
#: The parts of each order. Times are not an order: they are equal within a transaction.
_POSITIONS: Sequence[Sequence[str]] = (
    ("{}lsn",),
    ("{}file", "{}pos", "{}row"),
    # SQL Server and Db2.
    ("{}commit_lsn", "{}change_lsn", "{}event_serial_no"),
    # Oracle's numbers are texts.
    (f"{_NUMBER_OF}{{}}scn{_AS_NUMBER}",),
)
#: Informix writes this field, too. The texts of its positions do not compare as the positions do.
_NO_ORDER = "begin_lsn"


def resolve_presets(silver: SilverSpec, columns: Sequence[Field]) -> SilverSpec:
    """Return the options with those that a preset sets. Options that are given in `lake.yaml` stay.

    Args:
        silver: `silver` of the table in `lake.yaml`.
        columns: bronze's columns.

    Raises:
        UnsuitableColumns: bronze does not have the columns of such a feed.
    """
    if silver.preset == "debezium":
        preset = _debezium(silver, columns)
    elif silver.preset == "dms":
        preset = _dms(silver, columns)
    else:
        return silver
    given = silver.model_fields_set
    if "delete_when" in given:
        preset.pop("apply_as_deletes", None)
    excepted = preset.pop("except_columns", ())
    if not silver.columns:
        preset["except_columns"] = tuple(dict.fromkeys((*silver.except_columns, *excepted)))
    changed = {name: value for name, value in preset.items() if name not in given or name == "except_columns"}
    return silver.model_copy(update=changed)


@dataclass(frozen=True)
class Inserts:
    """Which rows of bronze insert a key: SQL conditions.

    Attributes:
        new: the row is new in the database.
        read: the row is of a snapshot, which may follow its insert.
    """

    new: str
    read: str


def inserts(silver: SilverSpec, columns: Sequence[Field]) -> Inserts | None:
    """Return which rows insert a key, if the kind of the feed says it.

    Args:
        columns: bronze's columns.
    """
    fields = _group_by_name(columns)
    if silver.preset == "dms" and (op := fields.get("op")):
        return Inserts(f"{quote_name(op.name)} = 'I'", "false")
    if silver.preset != "debezium":
        return None
    payload = _struct(fields.get("payload"))
    for start, found in (("payload.", _group_by_name(payload.fields) if payload else {}), ("", fields)):
        is_envelope = "op" in found and ("after" in found or "before" in found)
        if is_envelope or "__op" in found:
            op_name = f"{start}{'op' if is_envelope else '__op'}"
            return Inserts(f"{op_name} = 'c'", f"{op_name} = 'r'")
    return None


def _debezium(silver: SilverSpec, columns: Sequence[Field]) -> dict[str, Any]:
    fields = _group_by_name(columns)
    payload = _struct(fields.get("payload"))
    inner = _group_by_name(payload.fields) if payload else {}
    for start, found in (("payload.", inner), ("", fields)):
        if "op" in found and ("after" in found or "before" in found):
            return _envelope(silver, start, found, rescues=RESCUED_COLUMN in fields)
    return (
        _flattened_options(silver, "payload.", inner)
        if inner.keys() & FLAT_MARKS
        else _flattened_options(silver, "", fields)
    )


def _envelope(silver: SilverSpec, start: str, fields: dict[str, Field], *, rescues: bool) -> dict[str, Any]:
    before, after = (_struct(fields.get(name)) for name in ("before", "after"))
    if before is None and after is None:
        kinds = {fields[name].type for name in ("before", "after") if name in fields}
        if _TEXT in kinds and _MONGODB_MEMBERS & fields.keys():
            raise UnsuitableColumns(
                "has rows of MongoDB, whose `after` is text: `from: debezium` does not open it. Let the connector "
                "flatten them (ExtractNewDocumentState), and give `order`"
            )
        raise UnsuitableColumns(
            "has rows of Debezium without a struct `before` or `after`, so their columns are not known: let bronze "
            "infer them, or give their types under `columns` of the table"
        )
    row = _row(f"{start}before", before, f"{start}after", after)
    source = _struct(fields.get("source"))
    positions = log_position(f"{start}source.", [] if source is None else [field.name for field in source.fields])
    known = f"{start}op IN ('c', 'u', 'd', 'r')"
    deletes = f"{start}op = 'd'"
    if before is not None and after is not None:
        deletes += f" OR {_is_half(start, rescues=rescues)}"
    return {
        "row": row,
        "order": silver.order or positions or _missing_order_problem("source"),
        "apply_as_deletes": deletes,
        "apply_as_truncates": f"{start}op = 't'",
        "skip_when": f"NOT coalesce({known}, false) OR ({row}) IS NULL",
        "unavailable": UNAVAILABLE,
    }


def _is_half(start: str, *, rescues: bool) -> str:
    """Return the condition that bronze lacks `after` of an update, because it is of a person who was forgotten.

    The key has left the person of `before`. An `after` that did not fit its column is among the rescued values.
    """
    rescued = f" AND {RESCUED_COLUMN} IS NULL" if rescues else ""
    return f"({start}op = 'u' AND {start}after IS NULL AND {start}before IS NOT NULL{rescued})"


def _flattened_options(silver: SilverSpec, start: str, fields: dict[str, Field]) -> dict[str, Any]:
    """Return the options for rows of `ExtractNewRecordState`, whose metadata have names with two underscores."""
    metadata = [field.name for name, field in fields.items() if name.startswith("__")]
    names = {fold_name(name) for name in metadata}
    if not names & FLAT_MARKS:
        raise UnsuitableColumns(
            "has no rows of Debezium: neither `op` with `before` and `after`, in the row or in `payload`, nor "
            "`__deleted` or `__op` of flattened rows. For flattened rows set `delete.tombstone.handling.mode: rewrite` "
            "and `add.fields: op,source.lsn` in the connector"
        )
    prefixes = ("__source_", "__")
    positions = next((found for prefix in prefixes if (found := log_position(f"{start}{prefix}", metadata))), ())
    marks = [
        mark
        for name, mark in (("__deleted", "CAST({}__deleted AS STRING) = 'true'"), ("__op", "{}__op = 'd'"))
        if name in names
    ]
    return {
        "order": silver.order or positions or _missing_order_problem("add.fields"),
        "apply_as_deletes": " OR ".join(mark.format(start) for mark in marks),
        "except_columns": tuple(metadata),
        "unavailable": UNAVAILABLE,
        **({"apply_as_truncates": f"{start}__op = 't'"} if "__op" in names else {}),
        # The row next to its schema is one column, which a tombstone has no value of.
        **({"row": "payload", "skip_when": "payload IS NULL"} if start else {}),
    }


def _dms(silver: SilverSpec, columns: Sequence[Field]) -> dict[str, Any]:
    """Return the options for rows of AWS DMS. A full load has no column `Op`, unless it is asked for."""
    op = _group_by_name(columns).get("op")
    if op is None:
        return {}
    return {"apply_as_deletes": f"{quote_name(op.name)} = 'D'", "except_columns": (op.name,)}


def _row(before_name: str, before: Struct | None, after_name: str, after: Struct | None) -> str:
    """Return SQL of the row that an event is about: `after`, or `before` of a delete.

    If one of them is always null in a file, its inferred fields may differ from those in other files.
    """
    if before is None or after is None:
        return after_name if after else before_name
    if before.sql() == after.sql():
        return f"coalesce({after_name}, {before_name})"
    old, new = _group_by_name(before.fields), _group_by_name(after.fields)
    parts = []
    for name, field in {**old, **new}.items():
        kinds = [own[name].type for own in (new, old) if name in own]
        kind = add_missing_fields(kinds[0], kinds[-1])
        values = [
            _convert_value(own[name].type, kind, f"{start}.{quote_name(own[name].name)}")
            if name in own
            else f"CAST(NULL AS {kind.sql()})"
            for start, own in ((after_name, new), (before_name, old))
        ]
        parts.append(f"if({after_name} IS NULL, {values[1]}, {values[0]}) AS {quote_name(field.name)}")
    return f"if({after_name} IS NULL AND {before_name} IS NULL, NULL, struct({', '.join(parts)}))"


def _convert_value(given: Type, wanted: Type, value: str) -> str:
    """Return SQL of a value in a type that has its fields. A CAST alone takes fields by their place."""
    return f"CAST({align_value(given, wanted, value)} AS {wanted.sql()})"


def _missing_order_problem(where: str) -> tuple[str, ...]:
    raise UnsuitableColumns(
        f"has rows of Debezium without a position in the database's log in `{where}`: give `order` in `silver`"
    )


def _struct(field: Field | None) -> Struct | None:
    return field.type if field is not None and isinstance(field.type, Struct) else None


def _group_by_name(fields: Sequence[Field]) -> dict[str, Field]:
    return {fold_name(field.name): field for field in fields}


def log_position(start: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the order by the position in the database's log; empty if the rows do not have it.

    Args:
        start: what the names of the fields begin with in SQL, such as `source.` or, of flattened rows, `__source_`.
        names: the fields of `source`, or all names of the metadata of flattened rows.
    """
    prefix = start.rpartition(".")[2]
    known = {fold_name(name) for name in names}
    if f"{prefix}{_NO_ORDER}" in known:
        return ()
    for parts in _POSITIONS:
        needed = {part.removeprefix(_NUMBER_OF).split(" ")[0].format("") for part in parts} - _OPTIONAL.keys()
        if known.issuperset(f"{prefix}{name}" for name in needed):
            return tuple(part.format(start) for part in parts)
    return ()


def is_optional(part: str) -> bool:
    """Return whether a part of an order is a field that some rows have no value of."""
    return _field(part) in _OPTIONAL


def comparable_position(part: str, columns: Sequence[Field]) -> str:
    """Return a part of an order as SQL that compares as the positions do.

    After `mysql-bin.999999` comes `mysql-bin.1000000`, which is less as a text. A tilde for each digit after the sixth
    makes it greater, and leaves every other name as silver has stored it. A number
    of that name compares as it is. A number that is a text is cast, within bounds. An optional field that bronze does
    not have yet is NULL.

    Args:
        part: a column, a nested field or an expression.
        columns: bronze's columns.
    """
    if is_optional(part) and path_of(part, columns) is None:
        return f"CAST(NULL AS {_OPTIONAL[_field(part)]})"
    if part.startswith(_NUMBER_OF) and part.endswith(_AS_NUMBER):
        number = path_of(part.removeprefix(_NUMBER_OF).removesuffix(_AS_NUMBER), columns)
        return part if number is None else cast(type_at(number, columns), Decimal(MAX_DIGITS, 0), quote_path(number))
    path = path_of(part, columns) if _field(part) == "file" else None
    if path is None or type_at(path, columns) != Simple("string"):
        return part
    name = quote_path(path)
    # Begun at each digit of a name, the search would take the square of its length.
    digits = f"regexp_extract({name}, '(?<![0-9])([0-9]++)$', 1)"
    start = f"substring({name}, 1, length({name}) - length({digits}))"
    return f"concat({start}, repeat('~', length({digits}) - 6), {digits})"


def _field(part: str) -> str:
    """Return the field of `source` that a part of an order is; empty for an expression."""
    if is_expression(part):
        return ""
    return fold_name(part).rsplit(".", 1)[-1].removeprefix("__source_").removeprefix("__")


def unavailable_condition(placeholder: str | None, kind: Type, value: str) -> str | None:
    """Return the SQL condition that a value is the placeholder. None if no value of the type can be.

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
