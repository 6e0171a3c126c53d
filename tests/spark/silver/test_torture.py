"""The cases of a published torture test of AUTO CDC, whose results docs/guides/histories.md shows.

The cases are those of ivanvyd/lakeflow-auto-cdc-torture-test. The changes of a case have its name as their key, so one
table for each configuration has all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidegate.platform.core.config.silver_columns import own_columns, silver_query
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]
COLUMNS = {
    "case": "string", "seq": "int", "at": "int", "part": "int", "arrived": "int", "op": "string", "status": "string",
    "city": "string", "email": "string", "synced": "int",
}  # fmt: skip
NOT_COLUMNS = ["op", "at", "part", "arrived"]
SCD1: Row = {"keys": ["case"], "order": "seq", "apply_as_deletes": "op = 'delete'", "every": 10}
SCD2: Row = {**SCD1, "stored_as": "scd2", "except_columns": NOT_COLUMNS}
CONFIGURATIONS: dict[str, Row] = {
    "scd1": SCD1,
    "scd1_nulls": {**SCD1, "ignore_null_updates": True},
    "scd1_composite": {**SCD1, "order": ["at", "part"]},
    "scd1_arrival": {**SCD1, "order": "arrived"},
    "scd2": {**SCD2, "track_history_except_columns": ["synced"]},
    "scd2_all": SCD2,
}


def _change(case: str, seq: int, status: str, *, city: str | None = None, **values: Any) -> Row:
    change: Row = {"case": case, "seq": seq, "at": seq, "part": 1, "arrived": seq, "op": "upsert", "status": status}
    return {**change, "city": city, "email": None, "synced": 0, **values}


REPLAYED = [
    _change("replay", 10, "pending"),
    _change("replay", 20, "active", city="Antalya"),
    _change("replay", 30, "active", city="Izmir"),
    _change("replay", 40, "suspended", city="Ankara"),
    _change("replay", 50, "suspended", op="delete"),
]
FIRST = [
    _change("duplicate", 10, "active"),
    _change("duplicate", 10, "active"),
    _change("out of order", 12, "active"),
    _change("collision", 10, "suspended", part=2),
    _change("collision", 10, "pending", part=1),
    _change("wrong clock", 10, "suspended", at=5, arrived=1),
    _change("wrong clock", 11, "active", at=1, arrived=2),
    _change("sparse", 10, "active", city="Ankara", email="x@example.com"),
    _change("sparse", 11, "active", city="Istanbul"),
    _change("deleted", 17, "active"),
    _change("deleted", 20, "active", op="delete"),
    *REPLAYED,
    *(_change("noise", 10 + number, "active", synced=number) for number in range(51)),
]
LATE = [
    _change("duplicate", 10, "active"),
    _change("out of order", 10, "pending"),
    _change("deleted", 18, "suspended"),
    *REPLAYED,
]
#: By case and configuration: status, city, email, and of a history from when and until when.
EXPECTED: dict[tuple[str, str], list[tuple[Any, ...]]] = {
    ("duplicate", "scd1"): [("active", None, None)],
    ("duplicate", "scd2"): [("active", None, None, 10, None)],
    ("out of order", "scd1"): [("active", None, None)],
    ("out of order", "scd2"): [("pending", None, None, 10, 12), ("active", None, None, 12, None)],
    # The last row of the file. With `on_tie: fail` the merge fails instead, which test_silver_rules.py shows.
    ("collision", "scd1"): [("pending", None, None)],
    ("collision", "scd2"): [("pending", None, None, 10, None)],
    ("collision", "scd1_composite"): [("suspended", None, None)],
    ("wrong clock", "scd1_arrival"): [("active", None, None)],
    ("wrong clock", "scd1_composite"): [("suspended", None, None)],
    ("sparse", "scd1"): [("active", "Istanbul", None)],
    ("sparse", "scd2"): [
        ("active", "Ankara", "x@example.com", 10, 11),
        ("active", "Istanbul", None, 11, None),
    ],
    ("sparse", "scd1_nulls"): [("active", "Istanbul", "x@example.com")],
    ("deleted", "scd1"): [],
    ("deleted", "scd2"): [("active", None, None, 17, 18), ("suspended", None, None, 18, 20)],
    ("replay", "scd1"): [],
    ("replay", "scd2"): [
        ("pending", None, None, 10, 20),
        ("active", "Antalya", None, 20, 30),
        ("active", "Izmir", None, 30, 40),
        ("suspended", "Ankara", None, 40, 50),
    ],
    ("noise", "scd1"): [("active", None, None)],
    ("noise", "scd2"): [("active", None, None, 10, None)],
    ("noise", "scd2_all"): [("active", None, None, 10 + n, 11 + n if n < 50 else None) for n in range(51)],
}


@pytest.fixture(scope="module")
def tables(module_lake: MakeLake, kit: Any) -> dict[str, list[Row]]:
    """Return the rows of each configuration after the changes, and after those that come late where there are any.

    All are tables of one bronze table. Those but `scd1` and `scd2` are merged only before the late changes come.
    """
    lake = module_lake([{"name": "scd1", "prefix": "scd1/", "format": "json", "columns": COLUMNS, "silver": SCD1}])
    tables = [kit.second(lake, "scd1", name, silver) for name, silver in CONFIGURATIONS.items()]
    found = {}
    for number, changes in enumerate((FIRST, LATE)):
        lake.put(f"scd1/{number}.json", kit.lines(*changes))
        kit.run(lake, "scd1")
        for table in tables if number == 0 else [table for table in tables if table.name in ("scd1", "scd2")]:
            merge_table(lake.lake, table)
            query = silver_query("{t}", own_columns(table.silver))
            rows = kit.query(lake, query, t=lake.lake.store.uri("silver", table.name))
            found[table.name] = [row.asDict() for row in rows]
    return found


@pytest.mark.parametrize(("case", "configuration"), EXPECTED)
def test_a_case_of_the_torture_test(tables: dict[str, list[Row]], case: str, configuration: str) -> None:
    shown = ("status", "city", "email", *(("valid_from", "valid_to") if "scd2" in configuration else ()))
    rows = [tuple(row[name] for name in shown) for row in tables[configuration] if row["case"] == case]
    assert sorted(rows, key=lambda row: row[3:4]) == EXPECTED[case, configuration]
