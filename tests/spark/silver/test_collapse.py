"""What gives wrong rows in silver while every merge succeeds is counted, and columns may come later than the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tidegate.platform.core.config.table import TableSpec
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
Row = dict[str, Any]


def change(op: str, order: int, line: int | None, lsn: int) -> Row:
    row = {"order_id": order, "line_no": line, "sku": f"s{line}"}
    return {"op": op, "before" if op == "d" else "after": row, "source": {"lsn": lsn}}


#: A snapshot and inserts with the key (order_id, line_no); copies; a row that comes back; a row of two snapshots.
FEED: Sequence[Sequence[Row]] = (
    [change("r", order, line, 1) for order in range(1, 8) for line in (1, 2)],
    [
        *[change("c", order, line, 10 * order + line) for order in (11, 12) for line in (1, 2, 3)],
        *[change("c", 13, 1, 200)] * 3,
        change("c", 14, 1, 300),
        change("d", 14, 1, 301),
        change("c", 14, 2, 302),
        change("r", 15, 1, 400),
        change("r", 15, 2, 401),
    ],
)
FEED_SILVER = {"from": "debezium", "keys": ["order_id"], "every": 10}


def test_what_makes_one_row_of_several_is_counted_and_columns_may_come_later(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = {"keys": ["id"], "row": "coalesce(after, before)", "order": ["at", "seq"], "every": 10}
    later |= {"apply_as_deletes": "op = 'd'"}
    whole = {**FEED_SILVER, "keys": ["order_id", "line_no"]}
    plain = {"keys": ["id"], "order": "at", "every": 10}
    lake = tidegate_lake(
        [
            {"name": "lines", "prefix": "lines/", "format": "json", "silver": FEED_SILVER},
            {"name": "later", "prefix": "later/", "format": "json", "columns": {"seq": "int"}, "silver": later},
            {"name": "latin", "prefix": "latin/", "format": "csv", "csv": {"encoding": "latin-1"}, "silver": plain},
        ]
    )
    met: dict[str, list[dict[str, Any]]] = {}
    both = kit.second(lake, "lines", "both", whole)

    def merge(table: TableSpec) -> None:
        merged = silver_merge.merge_table(lake.lake, table)
        assert merged is not None
        met.setdefault(table.name, []).append(merged.collapse.metadata())

    def step(table: str, body: bytes | str, name: str) -> None:
        lake.put(f"{table}/{name}", body)
        kit.run(lake, table)
        merge(lake.spec(table))

    for number, rows in enumerate(FEED):
        step("lines", kit.lines(*rows), f"{number}.json")
        merge(both)
    assert met["lines"] == [{"null_keys": 0, "reinserted_keys": 7}, {"null_keys": 0, "reinserted_keys": 2}]
    assert met["both"] == [{"null_keys": 0}] * 2

    inserts = [{"op": "c", "after": {"id": 1, "v": "a"}, "at": 1}, {"op": "c", "after": {"id": 2, "v": "b"}, "at": 2}]
    step("later", kit.lines(*inserts), "0.json")
    assert met["later"] == [{"null_keys": 0, "awaited_columns": ["before"]}]
    deleted = {"op": "d", "before": {"id": 1, "v": "a"}, "at": 3, "seq": 1}
    newer = [{"op": "u", "after": {"id": 2, "v": text}, "at": 2, "seq": seq} for seq, text in ((2, "d"), (1, "c"))]
    step("later", kit.lines(deleted, *newer), "1.json")
    assert met["later"][1:] == [{"null_keys": 0}]
    assert kit.silver(lake, "later", "id, v") == [(2, "d")]

    text = "id,at,Größe\n1,1,groß\n2,1,“CAFÉ…”\n".encode("latin-1", "replace")
    step("latin", text, "0.csv")
    step("latin", "id,at,Größe\n3,1,groß\n4,1,x\n".encode(), "1.csv")
    step("latin", b"id,at,ALPHA,BETA,GAMMA\n5,1,x,y,z\n", "2.csv")
    assert met["latin"] == [
        {"null_keys": 0},
        {"null_keys": 0, "misread_rows": 1, "misread_columns": ["GrÃ¶Ã\x9fe"]},
        {
            "null_keys": 0,
            "misread_columns": ["GrÃ¶Ã\x9fe"],
            "joined_columns": ["ALPHA", "BETA", "GAMMA"],
        },
    ]

    # A large batch is compared by a sample of its keys.
    monkeypatch.setattr("tidegate.platform.silver.row_queries._SAMPLED_ROWS", 10)
    merged = silver_merge.rebuild_table(lake.lake, lake.spec("lines"))
    assert merged.collapse.reinserted > 0
