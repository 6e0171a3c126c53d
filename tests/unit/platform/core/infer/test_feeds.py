"""The `silver` that is proposed for change feeds, by the types that their files show and state."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tidegate.platform.core.infer.feeds import silver_of_feed
from tidegate.platform.core.infer.sniff import sniff_json


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
