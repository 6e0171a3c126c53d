"""Presets of silver: the options that a change feed of a known kind needs, by the columns that bronze has of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.aligned import aligned
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type, folded, quoted
from tidegate.platform.core.schema.names import RESCUED_COLUMN
from tidegate.platform.core.schema.united import united
from tidegate.platform.core.silver.expression_types import UnsuitableColumns
from tidegate.platform.core.silver.log_positions import log_position

#: What Debezium writes in place of a large value that an update did not change.
UNAVAILABLE = "__debezium_unavailable_value"
#: Columns by which flattened rows are known.
FLAT_MARKS = {"__deleted", "__op"}
#: Fields that only the connector of MongoDB writes.
_MONGODB_MEMBERS = {"updatedescription", "patch", "filter"}
_TEXT = Simple("string")


def resolved(silver: SilverSpec, columns: Sequence[Field]) -> SilverSpec:
    """Returns the options with those that a preset sets. Options that are given in `lake.yaml` stay.

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
    """Returns which rows insert a key, if the kind of the feed says it.

    Args:
        silver: the options.
        columns: bronze's columns.
    """
    fields = _by_name(columns)
    if silver.preset == "dms" and (op := fields.get("op")):
        return Inserts(f"{quoted(op.name)} = 'I'", "false")
    if silver.preset != "debezium":
        return None
    payload = _struct(fields.get("payload"))
    for start, found in (("payload.", _by_name(payload.fields) if payload else {}), ("", fields)):
        is_envelope = "op" in found and ("after" in found or "before" in found)
        if is_envelope or "__op" in found:
            op_name = f"{start}{'op' if is_envelope else '__op'}"
            return Inserts(f"{op_name} = 'c'", f"{op_name} = 'r'")
    return None


def _debezium(silver: SilverSpec, columns: Sequence[Field]) -> dict[str, Any]:
    fields = _by_name(columns)
    payload = _struct(fields.get("payload"))
    inner = _by_name(payload.fields) if payload else {}
    for start, found in (("payload.", inner), ("", fields)):
        if "op" in found and ("after" in found or "before" in found):
            return _envelope(silver, start, found, rescues=RESCUED_COLUMN in fields)
    return _flattened(silver, "payload.", inner) if inner.keys() & FLAT_MARKS else _flattened(silver, "", fields)


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
        "order": silver.order or positions or _no_order("source"),
        "apply_as_deletes": deletes,
        "apply_as_truncates": f"{start}op = 't'",
        "skip_when": f"NOT coalesce({known}, false) OR ({row}) IS NULL",
        "unavailable": UNAVAILABLE,
    }


def _is_half(start: str, *, rescues: bool) -> str:
    """Returns the condition that bronze lacks `after` of an update, because it is of a person who was forgotten.

    The key has left the person of `before`. An `after` that did not fit its column is among the rescued values.
    """
    rescued = f" AND {RESCUED_COLUMN} IS NULL" if rescues else ""
    return f"({start}op = 'u' AND {start}after IS NULL AND {start}before IS NOT NULL{rescued})"


def _flattened(silver: SilverSpec, start: str, fields: dict[str, Field]) -> dict[str, Any]:
    """Returns the options for rows of `ExtractNewRecordState`, whose metadata have names with two underscores."""
    metadata = [field.name for name, field in fields.items() if name.startswith("__")]
    names = {folded(name) for name in metadata}
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
        "order": silver.order or positions or _no_order("add.fields"),
        "apply_as_deletes": " OR ".join(mark.format(start) for mark in marks),
        "except_columns": tuple(metadata),
        "unavailable": UNAVAILABLE,
        **({"apply_as_truncates": f"{start}__op = 't'"} if "__op" in names else {}),
        # The row next to its schema is one column, which a tombstone has no value of.
        **({"row": "payload", "skip_when": "payload IS NULL"} if start else {}),
    }


def _dms(silver: SilverSpec, columns: Sequence[Field]) -> dict[str, Any]:
    """Returns the options for rows of AWS DMS. A full load has no column `Op`, unless it is asked for."""
    op = _by_name(columns).get("op")
    if op is None:
        return {}
    return {"apply_as_deletes": f"{quoted(op.name)} = 'D'", "except_columns": (op.name,)}


def _row(before_name: str, before: Struct | None, after_name: str, after: Struct | None) -> str:
    """Returns SQL of the row that an event is about: `after`, or `before` of a delete.

    Files in which one of them is always null may have other fields of it.
    """
    if before is None or after is None:
        return after_name if after else before_name
    if before.sql() == after.sql():
        return f"coalesce({after_name}, {before_name})"
    old, new = _by_name(before.fields), _by_name(after.fields)
    parts = []
    for name, field in {**old, **new}.items():
        kinds = [own[name].type for own in (new, old) if name in own]
        kind = united(kinds[0], kinds[-1])
        values = [
            _as(own[name].type, kind, f"{start}.{quoted(own[name].name)}")
            if name in own
            else f"CAST(NULL AS {kind.sql()})"
            for start, own in ((after_name, new), (before_name, old))
        ]
        parts.append(f"if({after_name} IS NULL, {values[1]}, {values[0]}) AS {quoted(field.name)}")
    return f"if({after_name} IS NULL AND {before_name} IS NULL, NULL, struct({', '.join(parts)}))"


def _as(given: Type, wanted: Type, value: str) -> str:
    """Returns SQL of a value in a type that has its fields. A CAST alone takes fields by their place."""
    return f"CAST({aligned(given, wanted, value)} AS {wanted.sql()})"


def _no_order(where: str) -> tuple[str, ...]:
    raise UnsuitableColumns(
        f"has rows of Debezium without a position in the database's log in `{where}`: give `order` in `silver`"
    )


def _struct(field: Field | None) -> Struct | None:
    return field.type if field is not None and isinstance(field.type, Struct) else None


def _by_name(fields: Sequence[Field]) -> dict[str, Field]:
    return {folded(field.name): field for field in fields}
