"""Computes what every output of the demo of events must contain, from the list of operations alone.

    python oracle.py FOLDER        # prints the expectation as JSON

Nothing of Tidegate is used, and nothing of the producers: the rules that a user expects are implemented a second time.

A line of an object is a row unless it is not a JSON object, has a field twice, or has a value that its column does not
hold (`cents` is a whole number). An object without any row is quarantined as a whole. The result:

    {"format": 1, "events_sent": 1, "outcomes": {"committed": 1, …}, "objects": 1, "types": {"orders.created": 12, …},
     "tables": {"bronze.orders": {"objects": 1, "rows": 1,
        "checks": [{"name": "rows", "sql": "count(*)", "value": 1}, …]}, …},
     "files": {"objects": 1, "rows": 1, "folders": {"search/date=2026-03-02/region=eu": {"rows": 1, "lines": 1}, …}},
     "datasets": {"events": 1, "waiting": ["<key>", …]},
     "quarantined": {"objects": {"<key>": "<kind>"}, "rows": {"<key>": 1}},
     "forwarded": {"orders.created": {"messages": 12, "keys": ["<key>", …], "existing": ["<key>", …]}, …}}

`files` has the folders of the output that is not a table: in each, the number of rows, and a sum of CRCs of their lines
as they were written. A row without a region is in Hive's folder of null.

`datasets` has the events of files that wait for a signal, and of signals. They are not in `outcomes`, because it
depends on the order of the events whether a file waits. `waiting` has the files whose signal never came.

`forwarded` has each message once for each type of its records, and which of its keys exist at the end. Counts of
`outcomes` are of events, which are records.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

BUCKET = "tidegate-landing"
OTHER = "other"
_KEY = re.compile(r"events/(?P<contract>[^/]+)/(?P<service>[^/]+)/(?P<action>[^/]+)/date=[^/]+/.+")
_VARIANT_TABLE = "unagreed"
_FILES = "interactions"
_DATASETS, _SIGNAL = "settlements", "_SUCCESS"
_NO_REGION = "__HIVE_DEFAULT_PARTITION__"
_ROWS, _IDS, _CENTS = "count(*)", "sum(crc32(id))", "coalesce(sum(cents), 0)"
_CHANNELS = "count(channel)"
#: Shapes of a value in a VARIANT: Python's type, and how the type that Spark finds begins.
_SHAPES = {"objects": (dict, "OBJECT"), "lists": (list, "ARRAY"), "texts": (str, "STRING"), "flags": (bool, "BOOLEAN")}


def main() -> None:
    """Run the command."""
    lines = (Path(sys.argv[1]) / "operations.jsonl").read_text(encoding="utf-8").splitlines()
    print(json.dumps(expected_table([json.loads(line) for line in lines])))


def expected_table(operations: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the expectation."""
    puts = {operation["key"]: operation for operation in operations if operation["op"] == "put"}
    of_datasets = {key for key in puts if table_of(key) == _DATASETS}
    complete = {key for key in of_datasets if f"{key.rpartition('/')[0]}/{_SIGNAL}" in puts}
    waiting = of_datasets - complete
    entering = {key: put for key, put in puts.items() if key not in waiting and not key.endswith(_SIGNAL)}
    good, quarantined, bad_rows = _objects(entering)
    tables = {f"bronze.{name}": _table(name, rows) for name, rows in sorted(good.items()) if name != _FILES}
    outcomes: Counter[str] = Counter(
        committed=sum(len(found) for name, found in good.items() if name != _DATASETS),
        quarantined=len(quarantined),
        no_table=sum(table_of(key) is None for key in puts),
    )
    forwarded: dict[str, Any] = defaultdict(lambda: {"messages": 0, "keys": set()})
    for key in puts:
        _forward(forwarded, [key])
    for operation in operations:
        if operation["op"] == "send":
            outcomes.update(_outcomes(operation["body"], set(puts)))
            _forward(forwarded, _keys(operation["body"]))
    types = {name: len(found["keys"] & set(puts)) for name, found in forwarded.items()}
    return {
        "format": 1,
        "events_sent": outcomes.total() + len(of_datasets),
        "outcomes": dict(+outcomes),
        "objects": len(puts),
        "types": types,
        "tables": tables,
        "datasets": {"events": len(of_datasets), "waiting": sorted(waiting)},
        "files": _files({key: puts[key]["body"] for key in good.get(_FILES, {})}),
        "quarantined": {"objects": quarantined, "rows": bad_rows},
        "forwarded": {
            name: {
                "messages": found["messages"],
                "keys": sorted(found["keys"]),
                "existing": sorted(found["keys"] & set(puts)),
            }
            for name, found in forwarded.items()
        },
    }


def event_type_of(key: str) -> str:
    """Return the event type of a key."""
    found = _KEY.fullmatch(key)
    return f"{found['service']}.{found['action']}" if found else OTHER


def table_of(key: str) -> str | None:
    """Return the table of a key; None if it has none."""
    found = re.match(r"events/(agreed/(?P<service>[^/]+)|(?P<shelf>open|bulky))/", key)
    if found is None:
        return _DATASETS if key.startswith(f"exports/{_DATASETS}/") else None
    return found["service"] or {"open": _VARIANT_TABLE, "bulky": _FILES}[found["shelf"]]


def good_rows(table: str, body: str) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of an object that fit its table, and the number of its other lines."""
    rows, bad = [], 0
    for line in body.splitlines():
        row = _row(line)
        if row is None or (table != _VARIANT_TABLE and not isinstance(row.get("cents"), int)):
            bad += 1
        else:
            rows.append(row)
    return rows, bad


def _objects(
    puts: dict[str, dict[str, Any]],
) -> tuple[dict[str, dict[str, list[dict[str, Any]]]], dict[str, str], dict[str, int]]:
    """Return the rows of each object by table and key, the objects without rows, and the bad lines of the others."""
    good: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(dict)
    quarantined, bad_rows = {}, {}
    for key, operation in puts.items():
        table = table_of(key)
        if table is None:
            continue
        rows, bad = good_rows(table, operation["body"])
        if not rows:
            quarantined[key] = operation["kind"]
            continue
        good[table][key] = rows
        if bad:
            bad_rows[key] = bad
    return good, quarantined, bad_rows


def _table(name: str, rows_of: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    rows = [row for found in rows_of.values() for row in found]
    checks = [("rows", _ROWS, len(rows)), ("ids", _IDS, sum(zlib.crc32(row["id"].encode()) for row in rows))]
    if name == _VARIANT_TABLE:
        for shape, (kind, spark) in _SHAPES.items():
            sql = f"count_if(schema_of_variant(data:payload) LIKE '{spark}%')"
            checks.append(
                (f"payloads that are {shape}", sql, sum(isinstance(row.get("payload"), kind) for row in rows))
            )
    else:
        checks.append(("cents", _CENTS, sum(row["cents"] for row in rows)))
    if drifted := sum("channel" in row for row in rows):
        checks.append(("rows with a field that came later", _CHANNELS, drifted))
    return {
        "objects": len(rows_of),
        "rows": len(rows),
        "checks": [{"name": check, "sql": sql, "value": value} for check, sql, value in checks],
    }


def _files(bodies: dict[str, str]) -> dict[str, Any]:
    folders: dict[str, dict[str, int]] = {}
    for key, body in bodies.items():
        service = event_type_of(key).partition(".")[0]
        for line in body.splitlines():
            row = json.loads(line)
            name = f"{service}/date={row['at'][:10]}/region={row.get('region', _NO_REGION)}"
            folder = folders.setdefault(name, {"rows": 0, "lines": 0})
            folder["rows"] += 1
            folder["lines"] += zlib.crc32(line.encode())
    return {
        "objects": len(bodies),
        "rows": sum(folder["rows"] for folder in folders.values()),
        "folders": folders,
    }


def _row(line: str) -> dict[str, Any] | None:
    def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a field twice")
        return dict(pairs)

    try:
        found = json.loads(line, object_pairs_hook=unique_members)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _outcomes(body: str, existing: set[str]) -> Iterable[str]:
    records = _records(body)
    if not records:
        yield "malformed"
    for record in records:
        key = unquote_plus(record["s3"]["object"]["key"])
        if record["s3"]["bucket"]["name"] != BUCKET:
            yield "no_table"
        else:
            yield "duplicate" if key in existing else "removed"


def _records(body: str) -> list[dict[str, Any]]:
    try:
        records = json.loads(body)["Records"]
    except ValueError:
        return []
    return records if isinstance(records, list) else []


def _keys(body: str) -> list[str]:
    found = [record["s3"] for record in _records(body)]
    return [unquote_plus(record["object"]["key"]) for record in found if record["bucket"]["name"] == BUCKET]


def _forward(forwarded: dict[str, Any], keys: Iterable[str]) -> None:
    """Count a message, once for each type of its records."""
    by_type: dict[str, set[str]] = defaultdict(set)
    for key in keys:
        by_type[event_type_of(key)].add(key)
    for event_type, found in by_type.items():
        forwarded[event_type]["messages"] += 1
        forwarded[event_type]["keys"] |= found


if __name__ == "__main__":
    main()
