"""What went wrong in other products, through the real pipeline: no value is lost, changed or refused without a word.

The cases are in `tests/support/peers`, many in each table. peers.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.foreign.same import plain, same
from tests.support.peers import changes, csv_files, declared_files, json_files, names
from tests.support.peers.case import Body, Changes, Peer, Row, ids_of, written
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.testing import TestLake

FILES = dict(enumerate((*csv_files.CASES, *names.CASES, *json_files.CASES, *declared_files.CASES), 10))
CHANGES = dict(enumerate(changes.CASES, 200))
_ENDINGS = {
    "texts": "csv",
    "typed": "csv",
    "json": "json",
    "parquet": "parquet",
    "parts": "parquet",
    "orc": "orc",
    "avro": "avro",
}


@dataclass
class Landed:
    """What became of the files of the cases.

    Attributes:
        fate: the last status and reason of each object, by table and key.
        rows: the rows of each table.
        types: Spark's types of each table's columns.
        bad: number of quarantined rows, by table and key.
    """

    fate: dict[str, dict[str, tuple[str, str]]]
    rows: dict[str, list[Row]]
    types: dict[str, dict[str, str]]
    bad: dict[tuple[str, str], int]


@pytest.fixture(scope="module")
def lake(module_lake: Callable[..., TestLake]) -> TestLake:
    options = {"texts": {"columns": {"id": "bigint", "a": "string", "b": "string"}}}
    tables = [{"name": name, "prefix": f"{name}/", **options.get(name, {})} for name in _ENDINGS]
    merged = [
        {"name": name, "prefix": f"{name}/", "format": "json", **options} for name, options in changes.TABLES.items()
    ]
    return module_lake([*tables, *merged], discovery=False)


@pytest.fixture(scope="module")
def landed(lake: TestLake, kit: Any) -> Landed:
    def put(number: int, peer: Peer, body: Body, name: str) -> None:
        lake.put(f"{peer.table}/{name}", written(body, number))

    def run() -> None:
        lake.intake()
        for name in _ENDINGS:
            kit.run(lake, name, listing=False)

    for number, peer in FILES.items():
        if peer.before is not None:
            put(number, peer, peer.before, f"before/{number}.{_ENDINGS[peer.table]}")
        else:
            put(number, peer, peer.body, _key(number, peer))
    run()
    for number, peer in FILES.items():
        if peer.before is not None:
            put(number, peer, peer.body, _key(number, peer))
    run()
    result = Landed({}, {}, {}, {})
    for name in _ENDINGS:
        frame = lake.lake.delta.session.sql(f"SELECT * FROM delta.`{kit.location(lake, name)}`")
        result.types[name] = {column.name: column.dataType.simpleString() for column in frame.schema}
        result.rows[name] = list(frame.toArrow().to_pylist())
        result.fate[name] = kit.fate(lake, name)
        for row in kit.ledger(lake, name):
            result.bad[name, row["key"].removeprefix(f"{name}/")] = row["bad_rows"] or 0
    return result


def _key(number: int, peer: Peer) -> str:
    return peer.key or f"{number}.{_ENDINGS[peer.table]}"


def _rows(found: list[Row], number: int, wanted: Row, place: int) -> list[Row]:
    """Return the columns that are compared, of the rows with an id of the case."""
    id = ids_of(number)(place)
    return [{name: row.get(name, "no column") for name in wanted} for row in found if row["id"] == id]


@pytest.mark.parametrize("number", FILES, ids=lambda number: f"{number} {FILES[number].source}")
def test_files_that_others_read_wrongly_are_read_rightly(landed: Landed, number: int) -> None:
    peer = FILES[number]
    key = _key(number, peer)
    status, reason = landed.fate[peer.table][key]
    assert status == ("quarantined" if peer.refused else "committed"), reason
    assert [text for text in peer.says if text not in reason] == [], reason
    if not peer.refused:
        assert landed.bad[peer.table, key] == peer.bad, reason
    found = landed.rows[peer.table]
    for place, wanted in peer.rows.items():
        (row,) = _rows(found, number, wanted, place)
        assert {name: plain(value) for name, value in row.items() if not same(wanted[name], value)} == {}
    types = landed.types[peer.table]
    assert {name: types.get(name) for name in peer.types} == peer.types
    # Rows that are bad, or of a file that is refused, are nowhere in the table.
    if peer.before is None:
        others = {ids_of(number)(place) for place in range(1, 9) if place not in peer.rows}
        assert [row for row in found if row["id"] in others] == []


@pytest.fixture(scope="module")
def silver(lake: TestLake, kit: Any) -> dict[str, list[Row]]:
    steps = max(len(case.steps) for case in CHANGES.values())
    for step in range(steps):
        for name in changes.TABLES:
            bodies = [
                written(case.steps[step], number)
                for number, case in CHANGES.items()
                if case.table == name and step < len(case.steps)
            ]
            if bodies:
                lake.put(f"{name}/{step}.json", b"".join(bodies))
                kit.run(lake, name)
                kit.merge(lake, name)
    for name in changes.TABLES:
        compared = compare(lake.lake, lake.spec(name))
        assert compared is not None
        assert compared.wrong == (), name
    return {name: [row.asDict() for row in lake.sql(f"SELECT * FROM silver.{name}")] for name in changes.TABLES}


@pytest.mark.parametrize("number", CHANGES, ids=lambda number: f"{number} {CHANGES[number].source}")
def test_changes_that_others_merge_wrongly_are_merged_rightly(silver: dict[str, list[Row]], number: int) -> None:
    case: Changes = CHANGES[number]
    own = {ids_of(number)(place) for place in range(1, 10)}
    found = [row for row in silver[case.table] if row["id"] in own]
    columns = {name for _, wanted in case.rows for name in wanted}
    shown = [{"id": row["id"], **{name: row[name] for name in columns}} for row in found]
    expected = [
        {"id": ids_of(number)(place), **{name: wanted.get(name) for name in columns}} for place, wanted in case.rows
    ]
    assert sorted(shown, key=repr) == sorted(expected, key=repr)


def test_events_that_come_twice_or_in_another_order_change_nothing(lake: TestLake, landed: Landed, kit: Any) -> None:
    """aws/aws-sdk-net#1119, HumanCellAtlas/data-store#1410 and apache/hudi#3433."""
    for name in ("ObjectRemoved:Delete", "ObjectCreated:Put", "ObjectCreated:Put"):
        kit.send(lake, kit.event(lake, "json/events/there.json", name=name))
    lake.put("json/events/there.json", '{"id": 3901}')
    lake.put("json/events/gone.json", '{"id": 3902}')
    lake.delete("json/events/gone.json")
    lake.intake()
    kit.run(lake, "json", listing=False)
    assert kit.bronze(lake, "json", "id") == sorted([*[(row["id"],) for row in landed.rows["json"]], (3901,)], key=repr)
    events = [row["status"] for row in kit.ledger(lake, "json") if row["key"] == "json/events/there.json"]
    assert sorted(events) == ["committed", "duplicate", "duplicate", "duplicate"]
