"""The oracle of the demo of events: what it expects of a list of operations that a reader can count."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from tidegate.platform.demo.events import oracle
from tidegate.platform.demo.events.catalog import event_types
from tidegate.platform.demo.events.producers import produce_events, write_operations

ORDERS, SHIPPING, OPEN = (
    f"events/{folder}/created/date=2026-03-02/1.json" for folder in ("agreed/orders", "agreed/shipping", "open/devices")
)


def put(key: str, *lines: str) -> dict[str, Any]:
    return {"op": "put", "key": key, "kind": "event", "body": "".join(f"{line}\n" for line in lines)}


def send(*keys: str, bucket: str = oracle.BUCKET) -> dict[str, Any]:
    records = [{"s3": {"bucket": {"name": bucket}, "object": {"key": key}}} for key in keys]
    return {"op": "send", "key": None, "kind": "redelivered", "body": json.dumps({"Records": records})}


def row(name: str, **fields: Any) -> str:
    return json.dumps({"id": name, **fields})


def checks(expected: dict[str, Any], table: str) -> dict[str, int]:
    return {check["name"]: check["value"] for check in expected["tables"][table]["checks"]}


def test_rows_are_what_fits_the_table() -> None:
    expected = oracle.expected_table(
        [
            put(ORDERS, row("a", cents=1), row("b", cents=2)),
            put(SHIPPING, row("c", cents="0.01 EUR"), row("d", cents=5, channel="app"), "{", "[1]"),
            put(OPEN, row("e", payload=[1]), row("f", payload={"x": 1}, cents="?"), '{"id": "g", "id": "h"}'),
        ]
    )
    assert checks(expected, "bronze.orders") == {
        "rows": 2, "ids": zlib.crc32(b"a") + zlib.crc32(b"b"), "cents": 3,
    }  # fmt: skip
    shipping = checks(expected, "bronze.shipping")
    assert (shipping["rows"], shipping["cents"], shipping["rows with a field that came later"]) == (1, 5, 1)
    unagreed = checks(expected, "bronze.unagreed")
    assert unagreed["rows"] == 2
    assert (unagreed["payloads that are lists"], unagreed["payloads that are objects"]) == (1, 1)
    assert expected["quarantined"] == {"objects": {}, "rows": {SHIPPING: 3, OPEN: 1}}


@pytest.mark.parametrize("lines", [(), ("<html></html>",), ('{"id": "tr',), (row("a", cents="1"),)])
def test_an_object_without_a_row_is_quarantined_as_a_whole(lines: tuple[str, ...]) -> None:
    expected = oracle.expected_table([put(ORDERS, *lines)])
    assert expected["quarantined"] == {"objects": {ORDERS: "event"}, "rows": {}}
    assert expected["tables"] == {}
    assert expected["outcomes"]["quarantined"] == expected["events_sent"] == 1


def test_every_event_has_an_outcome() -> None:
    expected = oracle.expected_table(
        [
            put(ORDERS, row("a", cents=1)),
            put("exports/README.txt", "?"),
            send(ORDERS),
            send(ORDERS, "events/agreed/orders/created/date=2026-03-02/gone.json"),
            send(ORDERS, bucket="another"),
            {"op": "send", "key": None, "kind": "poison", "body": "?"},
            {"op": "send", "key": None, "kind": "poison", "body": '{"Records": "none"}'},
        ]
    )
    assert expected["outcomes"] == {
        "committed": 1, "no_table": 2, "duplicate": 2, "removed": 1, "malformed": 2,
    }  # fmt: skip
    assert expected["events_sent"] == 8


def test_a_message_counts_once_for_each_type_of_its_records() -> None:
    expected = oracle.expected_table([put(ORDERS, row("a", cents=1)), put(OPEN, row("b")), send(ORDERS, ORDERS, OPEN)])
    messages = {name: found["messages"] for name, found in expected["forwarded"].items()}
    assert messages == {"orders.created": 2, "devices.created": 2}
    gone = ORDERS.replace("1.json", "2.json")
    forwarded = oracle.expected_table([put(ORDERS, row("a", cents=1)), send(gone)])["forwarded"]["orders.created"]
    assert forwarded == {"messages": 2, "keys": [ORDERS, gone], "existing": [ORDERS]}


def test_lines_of_the_output_that_is_not_a_table_are_in_folders_of_their_values() -> None:
    search = "events/bulky/search/viewed/date=2026-03-02/{}.json"
    lines = [
        row("a", at="2026-03-03T01:00:00Z", cents=1, region="eu"),
        row("b", at="2026-03-03T02:00:00Z", cents=2, region="eu"),
        row("c", at="2026-03-04T00:00:00Z", cents=3),
    ]
    expected = oracle.expected_table([put(search.format(1), *lines[:2]), put(search.format(2), lines[2])])
    assert expected["tables"] == {}
    assert expected["files"] == {
        "objects": 2,
        "rows": 3,
        "folders": {
            "search/date=2026-03-03/region=eu": {
                "rows": 2, "lines": zlib.crc32(lines[0].encode()) + zlib.crc32(lines[1].encode()),
            },
            "search/date=2026-03-04/region=__HIVE_DEFAULT_PARTITION__": {
                "rows": 1, "lines": zlib.crc32(lines[2].encode()),
            },
        },
    }  # fmt: skip
    assert expected["outcomes"] == {"committed": 2}


def test_a_dataset_enters_with_its_signal_and_waits_without() -> None:
    parts = [f"exports/settlements/day=2026-03-0{day}/part-{n}.json" for day in (2, 3) for n in (0, 1)]
    signal = "exports/settlements/day=2026-03-02/_SUCCESS"
    rows = [row(key, cents=number) for number, key in enumerate(parts)]
    expected = oracle.expected_table([*map(put, parts, rows), put(signal)])
    assert checks(expected, "bronze.settlements")["rows"] == 2
    assert expected["datasets"] == {"events": 5, "waiting": parts[2:]}
    assert expected["outcomes"] == {}
    assert expected["events_sent"] == 5


def test_the_command_expects_rows_of_every_table(tmp_path: Path) -> None:
    """It runs as a script, in a Python without Tidegate."""
    write_operations(produce_events(event_types(20), 200), tmp_path)
    script = [sys.executable, "-I", str(oracle.__file__), str(tmp_path)]
    found = json.loads(subprocess.run(script, check=True, capture_output=True, timeout=60).stdout)
    assert len(found["tables"]) == 16
    assert found["files"]["rows"] > 0
    assert all(table["rows"] > 0 for table in found["tables"].values())
    assert len(found["quarantined"]["objects"]) == 3
    assert set(found["quarantined"]["rows"].values()) == {1}
