"""The `silver` that is proposed for change feeds, by the types that their files show and state."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.support.tracked import ROOT
from tidegate.platform.core.infer.feeds import silver_of_feed
from tidegate.platform.core.infer.sniff import sniff_json

#: A message of Canal, as its documentation shows it, with a second row.
CANAL: dict[str, Any] = {
    "data": [{"id": "111", "name": "scooter", "weight": "5.18"}, {"id": "112", "name": None, "weight": None}],
    "database": "inventory",
    "es": 1589373560000,
    "id": 9,
    "isDdl": False,
    "mysqlType": {"id": "INTEGER", "name": "VARCHAR(255)", "weight": "FLOAT"},
    "old": [{"weight": "5.15"}, {"name": "none"}],
    "pkNames": ["id"],
    "sql": "",
    "sqlType": {"id": 4, "name": 12, "weight": 7},
    "table": "products",
    "ts": 1589373560798,
    "type": "UPDATE",
}


def proposed(*rows: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    sniffed = sniff_json("\n".join(map(json.dumps, rows)).encode(), whole=True)
    found = silver_of_feed(sniffed.columns, ["a.json"], sniffed.stated)
    assert found is not None
    return yaml.safe_load(found.line)["silver"], found.notes


def test_numbers_with_their_scale_and_times_of_day_are_decoded() -> None:
    of_any_scale = {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal", "fields": []}
    fields = [
        {"field": "id", "type": "int32"},
        {"field": "amount", **of_any_scale},
        {"field": "later", **of_any_scale},
        {"field": "opens", "type": "int64", "name": "io.debezium.time.MicroTime"},
        {"field": "closes", "type": "int32", "name": "org.apache.kafka.connect.data.Time"},
        {"field": "zoned", "type": "string", "name": "io.debezium.time.ZonedTime"},
    ]
    schema = {"type": "struct", "fields": [{"type": "struct", "fields": fields, "field": "after"}, {"field": "op"}]}
    after = {
        "id": 1,
        "amount": {"scale": 3, "value": "MDk="},
        "later": None,
        "opens": 1,
        "closes": 2,
        "zoned": "10:00Z",
    }
    silver, notes = proposed({"schema": schema, "payload": {"op": "c", "after": after, "source": {"lsn": 1}}})
    assert silver["decode"] == {
        "amount": "decimal(38, 18)",
        "later": "decimal(38, 18)",
        "opens": "time_microseconds",
        "closes": "time_milliseconds",
    }
    assert notes[0] == (
        "decode of amount: the files state that its type is io.debezium.data.VariableScaleDecimal, whose numbers have "
        "any digits: decimal(38, 18) is a guess"
    )


def test_a_tombstone_is_no_problem_of_a_feed() -> None:
    rows = b'{"op": "d", "before": {"id": 1}}\nnull\n{"op": "c", "after": {"id": 2, "n": 1}}\n'
    sniffed = sniff_json(rows, whole=True)
    assert (sniffed.problems, sniffed.columns["after"]) == ([], "struct<`id`: bigint, `n`: bigint>")


def test_messages_of_canal_have_the_options_of_the_guide() -> None:
    ddl = {**CANAL, "data": None, "old": None, "mysqlType": None, "sqlType": None, "isDdl": True, "type": "ALTER"}
    silver, notes = proposed(ddl, CANAL)
    section = (ROOT / "docs" / "guides" / "change-feeds.md").read_text(encoding="utf-8").split("## Canal\n", 1)[1]
    documented = yaml.safe_load(section.split("```yaml\n", 1)[1].split("```", 1)[0])["silver"]
    documented.pop("cast")
    assert silver == documented
    assert notes[0].startswith("these are messages of Canal")
    for missing in ("data", "es", "type"):
        sniffed = sniff_json(json.dumps({**CANAL, missing: None}).encode(), whole=True)
        assert silver_of_feed(sniffed.columns, ["a.json"]) is None, missing
