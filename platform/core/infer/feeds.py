"""Change feeds among the files of a listing, the `silver` that they need, and questions about encoded values."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tidegate.platform.core.config.yaml_document import flow
from tidegate.platform.core.infer.file_metadata import StatedColumn
from tidegate.platform.core.infer.sampled_changes import (
    SampledChange,
    changes_of_canal,
    changes_of_debezium,
    changes_of_dms,
    changes_of_maxwell,
    proposed_key,
)
from tidegate.platform.core.schema.column_types import Array, Struct, Type, fold_name
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.core.silver.presets import FLAT_MARKS

_FULL_LOAD = re.compile(r"(^|/)LOAD[0-9A-Fa-f]{8}\.[^/]+$")
#: Columns by which a payload is known.
_MARKS = {"op", *FLAT_MARKS}
#: Starts of the types of values that an encoding of bytes, or of a time, is written as.
_TEXTS, _NUMBERS = ("string", "binary", "struct<"), ("int", "bigint")
_BYTE_ENCODINGS = ("base64", "decimal")
#: Columns by which rows of Maxwell are known, and the options that they need. No preset has them.
_MAXWELL = {"database", "table", "type", "ts", "xid"}
_MAXWELL_OPTIONS = (
    "row: data, order: [\"CAST(split_part(split_part(position, ':', 1), '.', -1) AS BIGINT)\", "
    "\"CAST(split_part(position, ':', 2) AS BIGINT)\"], "
    "apply_as_deletes: \"type = 'delete'\", "
    "skip_when: \"type NOT IN ('insert', 'update', 'delete', 'bootstrap-insert')\""
)
_IS_MAXWELL = "these are rows of Maxwell: `data` is the row, and `position` its place in the database's log"
_NO_POSITION = (
    "set output_binlog_position=true in Maxwell: these files have no `position`, and `ts` is the second in which a "
    "statement began, which is not an order of changes"
)
_EQUAL_TIMES = (
    "changes of one commit time may be in two files, whose events come in any order: docs/guides/change-feeds.md has "
    "the second part of `order` that puts the files in order"
)
#: Columns by which messages of Canal are known, and the options that they need.
_CANAL = {"database", "table", "type", "es", "ts"}
_CANAL_OPTIONS = (
    "row: data, order: ts, apply_as_deletes: \"type = 'DELETE'\", apply_as_truncates: \"type = 'TRUNCATE'\""
)
_IS_CANAL = (
    "these are messages of Canal: each element of `data` is a row. Its values are text: give the types that "
    "`mysqlType` names by `cast`"
)
_EMPTY_SQL = "give the table `columns: {sql: string}`: files in which `sql` is empty everywhere do not show its type"
_TIME = re.compile(r"time|commit|_ts$|^ts$", re.IGNORECASE)

_YEAR_1990, _YEAR_2100 = 631_152_000, 4_102_444_800
#: By encoding, how many of its units a second has.
_UNITS = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
#: Identities may be as large as nanoseconds, and any small number may be days: only names like these are asked about.
_TIME_COLUMN_NAME = re.compile(
    r"date|time|day|born|birth|dob|(^|_)(at|on|ts|since|until|created|updated)$", re.IGNORECASE
)
_IDENTITY = re.compile(r"(id|key|no|number|phone|mobile|code)$", re.IGNORECASE)
#: Days of 1980 to 2099, and of people's births before.
_DAYS = range(-25_000, 47_482)
#: Smaller numbers are durations, and numbers of a day in a month or year.
_LEAST_DAYS = 400
#: Bytes of the largest decimal.
_MAX_BYTES = 16
#: Base64 of numbers has paddings, or capital letters and digits where words have none.
_NO_WORD = re.compile(r"=$|[a-z][A-Z0-9]|[A-Z]{2}[a-z]|^[A-Z]{3}")
_UNKNOWN = (
    "the files do not state the types of the database: if numbers of theirs are times, or texts are base64, give "
    "`decode` (docs/guides/change-feeds.md)"
)


@dataclass(frozen=True)
class ProposedSilver:
    """The `silver` to start from.

    Attributes:
        line: a line of YAML.
        notes: why it is so, and what else it may need. A sentence each.
    """

    line: str
    notes: tuple[str, ...] = ()


def propose_silver(
    columns: Mapping[str, str],
    keys: Sequence[str],
    stated: Mapping[str, StatedColumn] = MappingProxyType({}),
    rows: Sequence[Mapping[str, Any]] = (),
) -> ProposedSilver | None:
    """Return the `silver` to start from, if the files are a change feed of a known kind.

    Args:
        columns: SQL types by name.
        keys: keys of some files.
        stated: what the files state of the columns of their rows.
        rows: rows of these files, as far as they were read. They prove the key, or contradict it.
    """
    row = _debezium(columns)
    if row is not None:
        fields = {name: kind for name, kind in row.items() if not name.startswith("__")}
        changes = changes_of_debezium(rows)
        key, why = _key([*fields], changes)
        decode, notes = _stated_encodings(fields, stated)
        given = f"decode: {flow(decode)}, " if decode else ""
        asked = questions({name: kind for name, kind in fields.items() if name not in stated}, changes)
        line = f"silver: {{from: debezium, keys: [{key}], {given}every: 60}}"
        return ProposedSilver(line, (why, *notes, *asked))
    if (data := _fields(columns.get("data"))) and columns.keys() >= _MAXWELL:
        key, why = _key([*data], changes_of_maxwell(rows))
        notes = (why, _IS_MAXWELL) if "position" in columns else (why, _IS_MAXWELL, _NO_POSITION)
        return ProposedSilver(f"silver: {{keys: [{key}], {_MAXWELL_OPTIONS}, every: 60}}", notes)
    if (data := _elements(columns.get("data"))) and columns.keys() >= _CANAL:
        key, why = _key([*data], changes_of_canal(rows))
        return ProposedSilver(f"silver: {{keys: [{key}], {_CANAL_OPTIONS}, every: 60}}", (why, _IS_CANAL, _EMPTY_SQL))
    first = next(iter(columns), "")
    if fold_name(first) == "op" or any(_FULL_LOAD.search(key) for key in keys):
        times = [name for name in columns if _TIME.search(name)]
        order = flow(times[-1]) if times else "<TimestampColumnName>"
        key, why = _key([name for name in columns if fold_name(name) != "op"], changes_of_dms(rows))
        line = f"silver: {{from: dms, keys: [{key}], order: {order}, every: 60}}"
        return ProposedSilver(line, (why, _EQUAL_TIMES))
    return None


def is_debezium(columns: Mapping[str, str]) -> bool:
    """Return whether rows are changes of Debezium, by the SQL types of their columns."""
    return _debezium(columns) is not None


def _stated_encodings(
    fields: Mapping[str, str], stated: Mapping[str, StatedColumn]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the encodings that the files state of columns whose values are still encoded, and why."""
    decode, notes = {}, []
    for name, stated_column in stated.items():
        if stated_column.encoding is None or name.startswith("__"):
            continue
        encoded = _TEXTS if stated_column.encoding.startswith(_BYTE_ENCODINGS) else _NUMBERS
        # Bronze gets a column that is null everywhere with its first value, as it is encoded.
        if fields.get(name, encoded[0]).startswith(encoded):
            decode[name] = stated_column.encoding
            notes.append(f"decode of {name}: the files state that its type is {stated_column.type}")
    return decode, tuple(notes)


def _debezium(columns: Mapping[str, str]) -> dict[str, str] | None:
    """Return the columns of the database's table, with their types, if the files are of Debezium."""
    fields = dict(columns)
    payload = _fields(fields.get("payload"))
    if payload and payload.keys() & _MARKS:
        fields = payload
    if "op" in fields and ("after" in fields or "before" in fields):
        # Of a delete, `before` may have only the key.
        return {**_fields(fields.get("before")), **_fields(fields.get("after"))}
    return fields if fields.keys() & FLAT_MARKS else None


def _type(kind: str | None) -> Type | None:
    try:
        return parse_sql_type(kind or "")
    except ValueError:
        return None


def _fields(kind: str | None) -> dict[str, str]:
    """Return the types of a struct's fields, by name; none if it is not a struct."""
    found = _type(kind)
    return {field.name: field.type.sql() for field in found.fields} if isinstance(found, Struct) else {}


def _elements(kind: str | None) -> dict[str, str]:
    """Return the types of the fields of an array's structs, by name; none if it is not such an array."""
    found = _type(kind)
    return _fields(found.element.sql()) if isinstance(found, Array) else {}


def _key(fields: Sequence[str], changes: Sequence[SampledChange]) -> tuple[str, str]:
    """Return the text of `keys`, and why it is so."""
    found = proposed_key(fields, changes)
    columns = ["id" if name == "id" else flow(name) for name in found.columns]
    return ", ".join(columns) or "<primary key>", found.note


def questions(fields: Mapping[str, str], changes: Sequence[SampledChange]) -> tuple[str, ...]:
    """Return a sentence for each column whose values look encoded, as Debezium encodes decimals and times.

    Args:
        fields: SQL types of the columns whose type no file states.
        changes: the changes of a sample.
    """
    if not changes:
        return (_UNKNOWN,) if any(kind in ("bigint", "int", "binary") for kind in fields.values()) else ()
    found = []
    for name in fields:
        values = [change.values[name] for change in changes if name in change.values]
        if encoding := _encoding(name, values):
            what, entry = encoding
            found.append(f"decode of {name}? Its values look like {what}: if they are, add {name}: {entry} to decode")
    return tuple(found)


def _encoding(name: str, values: Sequence[Any]) -> tuple[str, str] | None:
    """Return what values look like, and the entry of `decode` for them."""
    if not values:
        return None
    if all(isinstance(value, str) for value in values):
        is_number = all(map(_is_number, values)) and any(map(_NO_WORD.search, values))
        return ("decimals in base64", "decimal(p, s)") if is_number else None
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return None
    named = _TIME_COLUMN_NAME.search(name)
    for unit, per_second in _UNITS.items():
        within = all(_YEAR_1990 * per_second <= value < _YEAR_2100 * per_second for value in values)
        if within and (named or (unit != "nanoseconds" and not _IDENTITY.search(name))):
            return f"{unit} since 1970", unit
    if named and all(value in _DAYS and abs(value) > _LEAST_DAYS for value in values):
        return "days since 1970", "days"
    return None


def _is_number(text: str) -> bool:
    """Return whether a text is base64 of a number, with as few bytes as the number needs."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    is_padded = len(data) > 1 and (data[0], data[1] >= 0x80) in ((0x00, False), (0xFF, True))
    return 0 < len(data) <= _MAX_BYTES and not is_padded
