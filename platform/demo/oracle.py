"""Computes what every table of the demo must contain, from the producers' folder alone.

    python oracle.py FOLDER        # prints the expectation as JSON

Nothing of Tidegate is used: the files are read with Python's json and csv and with pyarrow, and the rules that a user
expects are implemented a second time. Operations (`operations.jsonl`, see the producers) are replayed wave by wave. Of
a key only its state at the end of a wave counts.

Bronze, registered (flights): the rows of the existing files. Bronze, loaded: the rows of every content that a key had
at the end of a wave, even if the key was deleted later; a content that did not change adds nothing. Silver: for every
key the row with the latest `updated_at` wins, in whatever order rows came. If that row has `deleted`, the key is
hidden, and older rows do not bring it back. Rows of a removed file leave silver.flights (full merge) and stay in
silver.weather. The latter is a history: each row is valid from its `updated_at` to that of the key's next row, a row
with `deleted` ends it, and consecutive rows that differ in `updated_at` alone are one.

Quarantined objects are files of which nothing can be read. Quarantined rows are single lines that are broken, mistyped
or ragged; their file is loaded without them. The operation `mend` sets which texts mean a missing value in a table's
folder from then on, and reads a quarantined file again: the file counts as redriven if it can be read then.

Every check is a Spark SQL aggregate over one table and its expected value. `keys` and `content` are sums of CRCs of
rows, so an extra row and a missing row do not cancel out, and the order of rows does not matter. The result:

    {"format": 1, "tables": {"bronze.flights": {"layer": "bronze", "files": 1, "rows": 1,
       "checks": [{"name": "rows", "sql": "count(*)", "value": 1}, …]}, …},
     "events_sent": 1, "events": {"ledger": 1, "own_file": 1, "no_table": 1, "malformed": 1},
     "quarantined": {"objects": {"<key>": "<reason>"}, "rows": {"<key>": 2}},
     "gone": ["<key>"], "removed": ["<key>"], "redriven": ["<key>"],
     "after_wave": {"1": {all of the above}, "2": {…}}, "replay": {"events_sent": 1, "events": {…}}}

The fields outside `after_wave` describe the end of the last wave; counts of events are from the start. `replay` is what
a run adds that repeats only the operations marked so: events, but never a row.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import sys
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

BUCKET = "tidegate-landing"
ENDINGS = (".parquet", ".csv", ".csv.gz", ".json")
NULL = "~"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Table:
    """A table of the demo: its columns in a fixed order with their types, and the rules of its silver table."""

    prefix: str
    columns: dict[str, str]
    keys: tuple[str, ...]
    registered: bool = False
    silver: bool = False
    history: bool = False
    partitions: tuple[str, ...] = ()


def _columns(text: str) -> dict[str, str]:
    return {name: kind for kind, names in (part.split(":") for part in text.split(";")) for name in names.split()}


TABLES = {
    "flights": Table(
        "flights/",
        _columns(
            "int:year month day dep_time sched_dep_time arr_time sched_arr_time flight distance hour minute;"
            "double:dep_delay arr_delay air_time;string:carrier tailnum origin dest;"
            "timestamp:time_hour updated_at;boolean:deleted"
        ),
        ("year", "month", "day", "carrier", "flight", "origin"),
        registered=True,
        silver=True,
        partitions=("month", "day"),
    ),
    "weather": Table(
        "weather/",
        _columns(
            "string:origin;int:year month day hour wind_dir;"
            "double:temp dewp humid wind_speed wind_gust precip pressure visib;"
            "timestamp:time_hour updated_at;boolean:deleted"
        ),
        ("time_hour", "origin"),
        silver=True,
        history=True,
    ),
    "planes": Table(
        "planes/",
        _columns("string:tailnum type manufacturer model engine;int:year engines seats speed"),
        ("tailnum",),
    ),
    "airports": Table("airports/", _columns("string:faa name dst tzone;double:lat lon;int:alt tz"), ("faa",)),
    "airlines": Table("airlines/", _columns("string:carrier name"), ("carrier",)),
    "delays": Table(
        "delays/",
        {
            "Carrier": "string",
            "Flight No": "int",
            "Tail Number": "string",
            "From": "string",
            "To": "string",
            "Left At": "timestamp",
            "Delay (min)": "double",
            "Delay on Arrival (min)": "double",
            "__index_level_0__": "int",
        },
        ("__index_level_0__",),
        registered=True,
    ),
    "fleet": Table(
        "fleet/",
        _columns("string:_c0 tailnum type manufacturer model engine;int:year engines seats speed"),
        ("tailnum",),
    ),
}


@dataclass(frozen=True)
class Row:
    """The parts of a row that count: its key, its time in microseconds, and the CRCs of its text.

    `crc_of_change` is that of the values whose change begins a new row of a history.
    """

    key: str
    order: int
    deleted: bool
    crc: int
    crc_of_values: int
    crc_of_change: int = 0


@dataclass(frozen=True)
class Content:
    """The content of a file: its good rows, the number of bad rows, and why it cannot be read at all."""

    rows: list[Row] = field(default_factory=list)
    bad_rows: int = 0
    reason: str | None = None


class BadFileError(Exception):
    """Nothing of a file can be read. The message says why."""


def expect(folder: Path) -> dict[str, Any]:
    """Return the expected result for a producers' folder, in the format of the module's docstring.

    Raises:
        ValueError: the rules above have no answer, for example for a Parquet key that is written twice.
    """
    lines = (folder / "operations.jsonl").read_text(encoding="utf-8").splitlines()
    operations = [json.loads(line) for line in lines]
    world = _ExpectedLake(folder)
    waves: dict[str, Any] = {}
    for wave in sorted({done["wave"] for done in operations}):
        world.replay([done for done in operations if done["wave"] == wave])
        done_so_far = [done for done in operations if done["wave"] <= wave]
        waves[str(wave)] = {**world.result(), **_events(done_so_far)}
    again = _events(done for done in operations if done["replay"])
    return {"format": 1, **waves[max(waves, key=int)], "after_wave": waves, "replay": again}


class _ExpectedLake:
    """The bucket and the result so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.present: dict[str, tuple[str, Content]] = {}
        self.loaded: dict[str, list[Content]] = {name: [] for name in TABLES}
        self.bad_objects: dict[str, str] = {}
        self.bad_rows: dict[str, int] = {}
        self.gone: set[str] = set()
        self.removed: set[str] = set()
        self.redriven: set[str] = set()
        self.files: dict[str, str] = {}
        self.nulls: dict[str, list[str]] = {}

    def replay(self, operations: list[dict[str, Any]]) -> None:
        for done in operations:
            if done["op"] == "mend":
                self._apply_fix_to_files(done["key"], done["nulls"])
        last = {done["key"]: done for done in operations if done["op"] in ("put", "delete")}
        for key, done in last.items():
            name = _table(key)
            if name is None or outcome(BUCKET, key) != "ledger":
                continue
            if done["op"] == "put":
                self._put(name, key, done["file"])
            elif self.present.pop(key, None):
                self.removed.add(key)
        known = self.present.keys() | self.removed
        redelivered = {
            done["key"] for done in operations if done["op"] == "redeliver" and _outcome_of(done) == "ledger"
        }
        self.gone |= redelivered - known

    def _apply_fix_to_files(self, key: str, nulls: list[str]) -> None:
        name = _table(key)
        if name is None or key not in self.bad_objects:
            raise ValueError(f"the operation `mend` of {key} fixes nothing: the file can be read")
        self.nulls[name] = nulls
        del self.present[key], self.bad_objects[key]
        self._put(name, key, self.files[key])
        if key not in self.bad_objects:
            self.redriven.add(key)

    def _put(self, name: str, key: str, file: str) -> None:
        raw, table = (self.folder / file).read_bytes(), TABLES[name]
        self.files[key] = file
        version = f"{len(raw)}-{zlib.crc32(raw)}"
        if key in self.present:
            if self.present[key][0] == version:
                return
            if table.registered:
                raise ValueError(f"{key} is written twice: keys of registered tables are write-once")
        content = _read(table, key, raw, self.nulls.get(name, []))
        self.present[key] = (version, content)
        self.removed.discard(key)
        if content.reason:
            self.bad_objects[key] = content.reason
        if content.bad_rows:
            self.bad_rows[key] = self.bad_rows.get(key, 0) + content.bad_rows
        if not content.reason:
            self.loaded[name].append(content)

    def result(self) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for name, table in TABLES.items():
            contents = self.loaded[name]
            if table.registered:
                here = [content for key, (_, content) in self.present.items() if key.startswith(table.prefix)]
                contents = [content for content in here if not content.reason]
            rows = [row for content in contents for row in content.rows]
            tables[f"bronze.{name}"] = {"layer": "bronze", "files": len(contents), **_checks(table, rows)}
            if table.silver:
                merged = _history(table, rows) if table.history else _checks(table, _merge(rows), silver=True)
                tables[f"silver.{name}"] = {"layer": "silver", "files": None, **merged}
        return {
            "tables": tables,
            "quarantined": {"objects": dict(self.bad_objects), "rows": dict(self.bad_rows)},
            "gone": sorted(self.gone),
            "removed": sorted(self.removed),
            "redriven": sorted(self.redriven),
        }


def outcome(bucket: str, key: str) -> str:
    """Return how an event of this key must end: in the ledger of a table, or in one of the other counts."""
    parts = key.split("/")
    if bucket != BUCKET:
        return "no_table"
    if any(part.startswith(("_", ".")) and "=" not in part for part in parts):
        return "own_file"
    return "ledger" if _table(key) and key.endswith(ENDINGS) else "no_table"


def _table(key: str) -> str | None:
    return next((name for name, table in TABLES.items() if key.startswith(table.prefix)), None)


def _outcome_of(done: dict[str, Any]) -> str:
    if "body" not in done:
        return outcome(BUCKET, done["key"])
    try:
        about = json.loads(done["body"])["Records"][0]["s3"]
    except (ValueError, KeyError):
        return "malformed"
    return outcome(about["bucket"]["name"], unquote(about["object"]["key"].replace("+", " ")))


def _events(operations: Iterable[dict[str, Any]]) -> dict[str, Any]:
    counts = dict.fromkeys(("ledger", "own_file", "no_table", "malformed"), 0)
    for done in operations:
        counts[_outcome_of(done)] += done["events"]
    return {"events_sent": sum(counts.values()), "events": counts}


def _merge(rows: list[Row]) -> list[Row]:
    winners: dict[str, Row] = {}
    for row in rows:
        held = winners.setdefault(row.key, row)
        if row.order > held.order:
            winners[row.key] = row
        elif row.order == held.order and row.crc != held.crc:
            raise ValueError(f"two rows of key {row.key} have one updated_at and different values: no rule decides")
    return [row for row in winners.values() if not row.deleted]


def _history(table: Table, rows: list[Row]) -> dict[str, Any]:
    by_key: dict[str, dict[int, Row]] = {}
    for row in rows:
        held = by_key.setdefault(row.key, {}).setdefault(row.order, row)
        if row.crc != held.crc:
            raise ValueError(f"two rows of key {row.key} have one updated_at and different values: no rule decides")
    valid: list[Row] = []
    current = 0
    for changes in by_key.values():
        began, ordered = 0, [changes[order] for order in sorted(changes)]
        for row, following in zip(ordered, [*ordered[1:], None], strict=True):
            began = began or row.order
            if following and not row.deleted and not following.deleted and row.crc_of_change == following.crc_of_change:
                continue
            if not row.deleted:
                current += following is None
                times = f"|{began}|{following.order if following else NULL}"
                valid.append(replace(row, crc_of_values=zlib.crc32(times.encode(), row.crc_of_values)))
            began = 0
    timed = replace(table, columns={**table.columns, "valid_from": "timestamp", "valid_to": "timestamp"})
    found = _checks(timed, valid, silver=True)
    found["checks"].append({"name": "current", "sql": "count_if(is_current)", "value": current})
    return found


def _checks(table: Table, rows: list[Row], *, silver: bool = False) -> dict[str, Any]:
    values = [name for name in table.columns if not (silver and name == "deleted")]
    keys_sql, values_sql = _text_sql(table, table.keys), _text_sql(table, values)
    checks = [
        ("rows", "count(*)", len(rows)),
        ("distinct_keys", f"count(DISTINCT {keys_sql})", len({row.key for row in rows})),
        ("keys", f"sum(crc32({keys_sql}))", sum(zlib.crc32(row.key.encode()) for row in rows)),
        (
            "content",
            f"sum(crc32({values_sql}))",
            sum(row.crc_of_values if silver else row.crc for row in rows),
        ),
    ]
    return {
        "rows": len(rows),
        "checks": [{"name": n, "sql": sql, "value": value} for n, sql, value in checks],
    }


_SQL = {
    "int": "cast(`{}` AS string)",
    "string": "`{}`",
    "boolean": "cast(`{}` AS string)",
    "timestamp": "cast(unix_micros(`{}`) AS string)",
    "double": "cast(cast(round(`{}` * 10000000) AS bigint) AS string)",
}


def _text_sql(table: Table, names: Iterable[str]) -> str:
    parts = (f"coalesce({_SQL[table.columns[name]].format(name)}, '{NULL}')" for name in names)
    return f"concat_ws('|', {', '.join(parts)})"


def _format_double(value: float) -> str:
    return str(int(math.copysign(math.floor(abs(value * 10_000_000) + 0.5), value)))


_TEXT: dict[str, Callable[[Any], str]] = {
    "int": str,
    "string": str,
    "boolean": lambda value: "true" if value else "false",
    "timestamp": str,
    "double": _format_double,
}


def _row(table: Table, values: dict[str, Any]) -> Row:
    texts = {
        name: NULL if (value := values.get(name)) is None else _TEXT[kind](value)
        for name, kind in table.columns.items()
    }
    flag = texts.pop(
        "deleted", None
    )  # the last column if it exists, so that its CRC can continue that of the other columns
    of_values = zlib.crc32("|".join(texts.values()).encode())
    of_change = 0
    if table.history:
        of_change = zlib.crc32("|".join(text for name, text in texts.items() if name != "updated_at").encode())
    whole = of_values if flag is None else zlib.crc32(f"|{flag}".encode(), of_values)
    key = "|".join(texts[name] for name in table.keys)
    return Row(key, values.get("updated_at") or 0, flag == "true", whole, of_values, of_change)


def _read(table: Table, key: str, raw: bytes, nulls: Collection[str] = ()) -> Content:
    try:
        if not raw:
            raise BadFileError("empty")
        if key.endswith(".parquet"):
            return Content([_row(table, values) for values in _parquet(table, key, raw)])
        text = (gzip.decompress(raw) if key.endswith(".gz") else raw).decode()
        records = list(_json(table, text) if key.endswith(".json") else _csv(table, text, {"", *nulls}))
        if records and all(values is None for values in records):
            raise BadFileError("no row of it fits")
    except (BadFileError, pa.ArrowInvalid, OSError, UnicodeDecodeError) as bad:
        return Content(reason=str(bad).splitlines()[0])
    good = [values for values in records if values is not None]
    return Content([_row(table, values) for values in good], bad_rows=len(records) - len(good))


def _parquet(table: Table, key: str, raw: bytes) -> Iterator[dict[str, Any]]:
    inside = pq.read_table(io.BytesIO(raw))
    folders = dict(part.split("=", 1) for part in key.split("/")[:-1] if "=" in part)
    columns: dict[str, list[Any]] = {}
    for name, kind in table.columns.items():
        if name in table.partitions:
            columns[name] = [int(unquote(folders[name]))] * len(inside)
        else:
            column = inside[name]
            if kind == "timestamp":  # the cast to microseconds fails if it would lose precision
                column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
            columns[name] = column.to_pylist()
    return (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


def _json(table: Table, text: str) -> Iterator[dict[str, Any] | None]:
    allowed = {
        "int": (int,),
        "double": (int, float),
        "string": (str,),
        "boolean": (bool,),
        "timestamp": (str,),
    }
    for line in text.splitlines():
        try:
            values = json.loads(line)
            for name, value in values.items():
                kind = table.columns[name]
                if value is not None and type(value) not in allowed[kind]:
                    raise ValueError(f"{name} is not a {kind}")
                if value is not None and kind == "timestamp":
                    values[name] = _micros(value)
            yield values
        except (ValueError, AttributeError):
            yield None


def _csv(table: Table, text: str, nulls: Collection[str]) -> Iterator[dict[str, Any] | None]:
    first, *rows = csv.reader(io.StringIO(text))
    header = [name or f"_c{place}" for place, name in enumerate(first)]
    if set(header) != set(table.columns):
        raise BadFileError(f"columns {header} are not those of the table")
    parse: dict[str, Callable[[str], Any]] = {"int": int, "double": float, "string": str}
    for cells in rows:
        try:
            pairs = zip(header, cells, strict=True)
            yield {name: None if cell in nulls else parse[table.columns[name]](cell) for name, cell in pairs}
        except ValueError:
            yield None


def _micros(text: str) -> int:
    return (datetime.fromisoformat(text.replace("Z", "+00:00")) - _EPOCH) // timedelta(microseconds=1)


if __name__ == "__main__":
    json.dump(expect(Path(sys.argv[1])), sys.stdout, indent=1, ensure_ascii=False)
    print()
