"""The `silver` that is proposed for change feeds, by the types that their files show and state."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.support.tracked import ROOT
from tidegate.platform.core.infer.feeds import propose_silver
from tidegate.platform.core.infer.text_format import sniff_json

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
    found = propose_silver(sniffed.columns, ["a.json"], sniffed.stated, sniffed.rows)
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
    assert notes[1] == (
        "decode of amount: the files state that its type is io.debezium.data.VariableScaleDecimal, whose numbers have "
        "any digits: decimal(38, 18) is a guess"
    )


def test_a_tombstone_is_not_a_problem_of_a_feed() -> None:
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
    assert notes[0] == "keys: the rows name id as the primary key"
    assert notes[1].startswith("these are messages of Canal")
    for missing in ("data", "es", "type"):
        sniffed = sniff_json(json.dumps({**CANAL, missing: None}).encode(), whole=True)
        assert propose_silver(sniffed.columns, ["a.json"]) is None, missing


def change(op: str, row: dict[str, Any] | None = None, *, lsn: int = 0, before: dict[str, Any] | None = None) -> Any:
    return {"op": op, "before": before, "after": row, "source": {"lsn": lsn}}


LINES: list[dict[str, Any]] = [
    {"order_id": order, "line_no": line, "sku": f"s{line}"} for order in (5, 6) for line in (1, 2)
]


def test_the_key_of_a_debezium_table_is_what_its_deletes_have() -> None:
    rows = [change("c", row, lsn=lsn) for lsn, row in enumerate(LINES)]
    deleted = change("d", before={"order_id": 5, "line_no": 2, "sku": None})
    silver, notes = proposed(*rows, deleted, deleted)
    assert silver["keys"] == ["order_id", "line_no"]
    assert notes == ("keys: deletes have a value of order_id, line_no only, which is the key",)
    flat = [{**row, "__op": "c", "__deleted": "false"} for row in LINES]
    gone = {"order_id": 5, "line_no": 2, "sku": None, "__op": "d", "__deleted": "true"}
    for payload in (lambda row: row, lambda row: {"schema": None, "payload": row}):
        assert proposed(*map(payload, [*flat, gone]))[0]["keys"] == ["order_id", "line_no"]
    # With REPLICA IDENTITY FULL, and in MySQL, a delete has the whole row.
    whole = change("d", before=LINES[0])
    assert proposed(*rows, whole)[0]["keys"] == ["<primary key>"]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([change("c", row, lsn=lsn) for lsn, row in enumerate(LINES)], "2 values of it came with several inserts"),
        ([change("r", row) for row in LINES], "2 values of it came with several inserts"),
        ([change("u", {**LINES[0], "order_id": None}), change("c", LINES[0])], "order_id is NULL in a row"),
        ([{"Op": "I", **row} for row in LINES], "2 values of it came with several inserts"),
    ],
)
def test_a_guess_that_the_sample_contradicts_is_not_a_proposal(rows: list[dict[str, Any]], why: str) -> None:
    silver, notes = proposed(*rows)
    assert silver["keys"] == ["<primary key>"]
    assert notes[0].startswith(f"keys: order_id alone is not the key: {why}")


def test_copies_second_snapshots_and_rows_that_come_back_contradict_nothing() -> None:
    made, other = LINES[0], {**LINES[0], "sku": "b"}
    rows = [
        *[change("c", made, lsn=1)] * 3,
        change("d", before={"order_id": 5}, lsn=2),
        change("c", other, lsn=3),
        change("r", made, lsn=4),
        change("r", other, lsn=5),
    ]
    assert proposed(*rows)[0]["keys"] == ["order_id"]
    silver, notes = proposed(*rows[:1], change("c", LINES[2], lsn=9))
    assert silver["keys"] == ["order_id"]
    assert notes[0].startswith("keys is a guess by the name order_id (no two of 2 inserts share a value)")


def test_values_that_look_encoded_are_asked_about_where_no_schema_states_them() -> None:
    first: dict[str, Any] = {"id": 1, "amount": "Bwg=", "made": 1_760_000_000_000_000, "born": 7300, "word": "blue"}
    first["phone"] = 4917612345678
    rows = [first, {**first, "id": 2, "amount": "AYag", "born": -4000, "word": "Gray"}]
    _, notes = proposed(*(change("c", row, lsn=lsn) for lsn, row in enumerate(rows)))
    assert [note.split("? Its values look like ")[1] for note in notes[1:]] == [
        "decimals in base64: if they are, add amount: decimal(p, s) to decode",
        "microseconds since 1970: if they are, add made: microseconds to decode",
        "days since 1970: if they are, add born: days to decode",
    ]
    fields = [{"field": name, "type": "string"} for name in rows[0]]
    schema = {"fields": [{"field": "op"}, {"field": "after", "fields": fields}]}
    assert len(proposed({"schema": schema, "payload": change("c", rows[0])})[1]) == 1
