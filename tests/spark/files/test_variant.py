"""`schema: variant`: events without a common schema become one table, and each value keeps its meaning."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.spark.conftest import Shell
from tests.support.foreign.others import by_delta_rs, by_duckdb, copied_down
from tidegate.platform.cli.commands.sql import run_sql
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.core.keys.s3_address import S3Address
from tidegate.platform.maintenance import compaction
from tidegate.platform.operations.rebuild import rebuild_table
from tidegate.platform.operations.redrive import Choice, RedriveRequest, quarantined_objects, redrive_objects
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
EVENTS = {
    "name": "events",
    "prefix": "events/",
    "format": "json",
    "schema": "variant",
    "columns": {"id": "bigint", "at": "timestamp"},
    "silver": {"keys": ["id"], "order": "at", "every": 60},
}

#: The query that the page shows.
_PAGE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "variant.md"
_QUERY = _PAGE.read_text(encoding="utf-8").split("```sql\n", 1)[1].split("```", 1)[0]
#: Each event contradicts the types of the events before it.
_LINES = [
    '{"id": 1, "at": "2026-01-01T00:00:00Z", "v": 1}',
    '{"id": 2, "at": "2026-01-01T00:00:00Z", "v": "text \\u00e9\\ud83d\\ude00", "deep": {"a": [1, {"b": [[], {}]}]}}',
    '{"id": 3, "at": "2026-01-01T00:00:00Z", "v": {"id": "not the id"}, "deep": [1.50, null, true]}',
    '{"id": 4, "at": "2026-01-01T00:00:00Z", "v": 123456789012345678901234567890.12345678, "data": {"data": -1}}',
    '{"id": 5, "at": "2026-01-01T00:00:00Z", "v": 9223372036854775808, "ID": "another field", "x y": 0.1, "": ""}',
    '{"id": 6, "v": 1e300, "at": "2026-01-01T00:00:00Z", "_source_path": "theirs"}',
    "{}",
]


def _parse_object(text: str) -> Any:
    return json.loads(text.replace(":.", ":0."), parse_float=Decimal, parse_int=Decimal)  # DuckDB writes 0.1 as .1


def _plain(value: Any) -> Any:
    """Return the value with numbers in one spelling, and fields in one order."""
    if isinstance(value, Decimal):
        return value.normalize()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in sorted(value.items())}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _objects(lake: TestLake, kit: Any, table: str = "events") -> list[Any]:
    texts = [row[0] for row in kit.bronze(lake, table, "to_json(data)")]
    return sorted((_plain(_parse_object(text)) for text in texts), key=repr)


def test_drifting_events_are_one_table_whose_values_are_those_of_the_source(
    tidegate_lake: MakeLake,
    kit: Any,
    tmp_path: Path,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = tidegate_lake([EVENTS])
    lake.put("events/1.json", "\n".join(_LINES[:3]))
    lake.put("events/2.json.gz", gzip.compress("\n".join(_LINES[3:5]).encode()))
    lake.put("events/3.json", f"[{_LINES[5]}, {_LINES[6]}]")
    (first,) = kit.run(lake, "events")
    assert first.batch.create is not None
    assert [field.name for field in first.batch.create.schema.fields][5:] == ["id", "at", "data"]
    state = kit.state(lake, "events")
    assert _objects(lake, kit) == sorted((_plain(_parse_object(line)) for line in _LINES), key=repr)
    assert kit.bronze(lake, "events", "id, variant_get(data, '$.id', 'string')") == [
        *((id, str(id)) for id in range(1, 7)),
        (None, None),
    ]

    # New fields and types change nothing of the table. A value that no VARIANT keeps makes its row bad, and no other.
    bad = '{"id": 8, "v": 1e400}\n{"id": "eight"}\n{"id": 8, "v": {"a": 1, "a": 2}}\n'
    lake.put("events/4.json", '{"id": 7, "at": "2026-01-02T00:00:00Z", "new": {"v": []}}\n' + bad)
    (second,) = kit.run(lake, "events")
    assert (second.batch.create, second.batch.evolve) == (None, None)
    assert kit.state(lake, "events").schema == state.schema
    assert kit.fate(lake, "events")["4.json"][0] == "committed"
    assert [row["bad_rows"] for row in kit.ledger(lake, "events")] == [None, None, None, 3]
    assert kit.run(lake, "events") == [], "a listing has nothing new"

    # A file that comes again, and a file that is redriven: each row is once in the table.
    expected = [*_LINES, '{"id": 7, "at": "2026-01-02T00:00:00Z", "new": {"v": []}}']
    lake.put("events/1.json", "\n".join(_LINES[:3]))
    kit.run(lake, "events")
    kit.merge(lake, "events")
    monkeypatch.setattr(compaction, "EVERY", 1)
    choice = Choice(key="events/4.json")
    found = quarantined_objects(lake.lake, lake.key("events"), choice)
    redrive_objects(lake.lake, lake.key("events"), found, RedriveRequest("somebody", choice))
    (again,) = kit.run(lake, "events")
    assert (len(again.batch.removes), again.batch.rows[0].bad_rows) == (1, 3)
    assert kit.state(lake, "events").files == 1, "the run compacted the table"
    assert _objects(lake, kit) == sorted((_plain(_parse_object(line)) for line in expected), key=repr)

    # Silver merges by the columns, and the VARIANT passes through.
    lake.put("events/5.json", '{"id": 7, "at": "2026-01-03T00:00:00Z", "new": "later"}')
    kit.run(lake, "events")
    kit.merge(lake, "events")
    merged = kit.silver(lake, "events", "id, to_json(data:new)")
    assert merged == [*((id, None) for id in range(1, 7)), (7, '"later"'), (None, None)]

    shell.use(lake)
    run_sql(shell, _QUERY, None, 10)
    assert "price" in shell.said()
    run_sql(shell, "SELECT data, data:v AS data FROM bronze.events WHERE id IN (3, 4) ORDER BY id", None, 10)
    assert '{"at":"2026-01-01T00:00:00Z","deep":[1.5,null,true],"id":3,"v":{"id":"not the id"}}' in shell.said()
    assert shell.said().split()[-1] == "123456789012345678901234567890.12345678"

    # The table has one feature more, and no shredding. Other readers read it, as `docs/guides/variant.md` says.
    location = kit.location(lake, "events")
    (detail,) = kit.query(lake, "DESCRIBE DETAIL {t}", t=location)
    assert "variantType" in detail["tableFeatures"]
    assert not [feature for feature in detail["tableFeatures"] if "hredding" in feature]
    copy = copied_down(lake.clients, location, tmp_path)
    assert {frozenset(row["data"]) for row in by_delta_rs(copy)} == {frozenset(("metadata", "value"))}
    objects = {row["id"]: row["data"] for row in by_duckdb(copy, "id, CAST(data AS JSON) AS data") if row["id"] != 7}
    assert {id: _plain(_parse_object(text)) for id, text in objects.items()} == {
        event.get("id"): _plain(event) for event in map(_parse_object, _LINES)
    }
    with pytest.raises(pl.exceptions.ComputeError, match="variant"):
        pl.scan_delta(str(copy)).collect()


@pytest.mark.limit("Tables", "A table does not change between columns and `schema: variant`, except by a reset.")
def test_a_table_cannot_change_between_fields_and_objects(tidegate_lake: MakeLake, kit: Any) -> None:
    plain = {name: value for name, value in EVENTS.items() if name not in ("columns", "silver")}
    lake = tidegate_lake([plain])
    lake.put("events/1.json", '{"id": 1}')
    kit.run(lake, "events")
    lake.put("events/2.json", '{"id": "two"}')
    kit.configure(lake, schema="evolve")
    with pytest.raises(
        ConfigurationError, match=r"born with whole objects in its column data, and its `schema` .* is evolve"
    ):
        kit.run(lake, "events")
    assert [row["key"] for row in kit.ledger(lake, "events")] == ["events/1.json"]
    # The change is undone, and the waiting file is loaded. A column that lake.yaml gets later joins the table.
    kit.configure(lake, schema="variant", columns={"id": "string"})
    (done,) = kit.run(lake, "events")
    assert done.batch.evolve is not None
    assert kit.bronze(lake, "events", "id, to_json(data)") == [("two", '{"id":"two"}'), (None, '{"id":1}')]


def test_messages_of_a_row_queue_are_whole_objects_without_tidegates_members(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "clicks", "row_queue": {"name": "clicks"}, "schema": "variant"}])
    queue = lake.lake.queues[1]
    for body in ('{"id": 1}', '{"id": {"n": 12345678901234567890.25}}'):
        queue.send(body)
    lake.intake()
    kit.run(lake, "clicks")
    found = kit.bronze(lake, "clicks", "to_json(data), _message_id IS NOT NULL, _sent_at IS NOT NULL")
    assert found == [('{"id":1}', True, True), ('{"id":{"n":12345678901234567890.25}}', True, True)]


def test_a_table_of_variants_is_rebuilt_redriven_and_read_from_a_checkpoint(tidegate_lake: MakeLake, kit: Any) -> None:
    spec = {name: value for name, value in EVENTS.items() if name != "silver"}
    lake = tidegate_lake([spec])
    lake.put("events/1.json", "\n".join(_LINES[:4]))
    lake.put("events/2.json", "\n".join([*_LINES[4:], '{"id": 8, "v": 1e400}']))
    kit.run(lake, "events")
    location = kit.location(lake, "events")
    kit.query(lake, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')", t=location)

    rebuild_table(lake.lake, lake.key("events"), by="test")
    (rebuilt,) = kit.run(lake, "events")
    assert (len(rebuilt.batch.removes) > 0, len(rebuilt.batch.rows)) == (True, 2)
    choice = Choice(key="events/2.json")
    found = quarantined_objects(lake.lake, lake.key("events"), choice)
    redrive_objects(lake.lake, lake.key("events"), found, RedriveRequest("somebody", choice))
    (redriven,) = kit.run(lake, "events")
    assert [row.bad_rows for row in redriven.batch.rows] == [1]

    bucket, folder = S3Address.parse_s3a(location)
    listed = lake.clients.s3.list_objects_v2(Bucket=bucket, Prefix=f"{folder}/_delta_log/")["Contents"]
    checkpoint = max(item["Key"] for item in listed if ".checkpoint" in item["Key"])
    version = int(checkpoint.rpartition("/")[2][:20])
    # Without the commits that it replaces, every reader depends on the checkpoint.
    replaced = [item["Key"] for item in listed if item["Key"].endswith(".json") and _version(item["Key"]) <= version]
    for key in replaced:
        lake.clients.s3.delete_object(Bucket=bucket, Key=key)
    assert len(replaced) > 2
    lake.put("events/3.json", '{"id": 9, "at": "2026-01-04T00:00:00Z", "v": 0.10000000000000000000000001}')
    kit.run(lake, "events")
    expected = [*_LINES, '{"id": 9, "at": "2026-01-04T00:00:00Z", "v": 0.10000000000000000000000001}']
    assert _objects(lake, kit) == sorted((_plain(_parse_object(line)) for line in expected), key=repr)


def _version(key: str) -> int:
    name = key.rpartition("/")[2][:20]
    return int(name) if name.isdigit() else -1
