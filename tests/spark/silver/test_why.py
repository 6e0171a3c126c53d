"""`tidegate why`: every row of bronze with a key, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.spark.conftest import Shell
from tidegate.platform.cli.commands.sql import run_sql
from tidegate.platform.cli.commands.why import WhyAnswer, run_why
from tidegate.platform.core.errors import ConfigurationError
from tidegate.platform.silver.audit.key_history import KeyHistory, key_history
from tidegate.platform.silver.audit.key_rows import KeyRows
from tidegate.platform.silver.pending_merge import merge_state
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


def why(lake: TestLake, table: str, *key: str) -> KeyHistory:
    return key_history(lake.lake, lake.spec(table), key)


def fates_of(found: KeyHistory) -> list[tuple[int | None, str]]:
    return [(event.row.n, str(event.fate)) for event in found.events]


def test_each_row_of_a_key_is_followed_to_silver(
    tidegate_lake: MakeLake, kit: Any, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"ref": "struct<id: int>", "region": "string", "at": "int", "op": "string", "v": "string"}
    silver = {
        "keys": ["ref.id", "lower(region)"],
        "order": ["at"],
        "delete_when": "op = 'd'",
        "skip_when": "op = 'x'",
        "every": 10,
    }
    lake = tidegate_lake(
        [{"name": "orders", "prefix": "orders/", "format": "json", "columns": columns, "silver": silver}]
    )

    def land(name: str, *rows: tuple[int, str, int, str, str]) -> None:
        body = [{"ref": {"id": id}, "region": region, "at": at, "op": op, "v": v} for id, region, at, op, v in rows]
        lake.put(f"orders/{name}.json", kit.lines(*body))
        lake.intake()
        kit.run(lake, "orders", listing=False)

    with pytest.raises(ValueError, match=r"bronze\.orders has no rows yet, so silver\.orders has none"):
        why(lake, "orders", "ref.id=1", "lower(region)=eu")
    land("1", (1, "EU", 10, "u", "first"), (1, "us", 99, "u", "another key"), (1, "eu", 10, "u", "same order"))
    land("2", (1, "eu", 30, "u", "newest"), (1, "EU", 40, "x", "no change"), (2, "eu", 1, "u", "other"))
    kit.merge(lake, "orders")
    land("3", (1, "Eu", 20, "d", "too late"))
    kit.merge(lake, "orders")
    land("4", (1, "eu", 50, "d", ""))
    found = why(lake, "orders", "lower(region)=eu", "ref.id=1")
    assert fates_of(found) == [(4, "waits"), (2, "skipped"), (2, "won"), (3, "older"), (1, "older"), (1, "older")]
    assert found.is_right
    assert found.verdict == (
        "silver.orders has the row of batch 2; 1 row waits for the next merge (silver holds batch 3, the ledger has 4)"
    )
    assert found.silver is not None
    assert (json.loads(found.silver.row.values)["v"], found.silver.changed_batch) == ("newest", 2)
    newest = found.events[2]
    assert newest.found.address == f"s3://{lake.bucket}/orders/2.json"
    assert newest.event.startswith("ObjectCreated:Put ")
    assert newest.recorded_at is not None
    kit.merge(lake, "orders")
    assert fates_of(why(lake, "orders", "ref.id=1", "lower(region)=eu"))[0] == (4, "tombstone")

    # Somebody removes the tombstone, and then a row of silver.
    table = lake.lake.store.uri("silver", "orders")
    kit.query(lake, "DELETE FROM {t} WHERE _deleted", t=table)
    found = why(lake, "orders", "ref.id=1", "lower(region)=eu")
    assert (fates_of(found)[0], found.is_right) == ((4, "expired"), True)
    assert found.verdict == "silver.orders shows no row: the row of batch 4 deleted the key"
    kit.query(lake, "UPDATE {t} SET v = 'changed' WHERE ref.id = 2", t=table)
    found = why(lake, "orders", "ref.id=2", "lower(region)=eu")
    assert not found.is_right
    assert " has another row, in which v is changed and not " in found.verdict
    assert why(lake, "orders", "ref.id=7", "lower(region)=NULL").verdict == "bronze.orders has no row with this key"

    monkeypatch.setenv("TIDEGATE_LAKE", str(lake.path))
    shell.use(lake)
    assert not run_why(shell, "silver.orders", ["ref.id=2", "lower(region)=eu"], None, None)
    said = shell.said()
    assert "batch 2" in said
    assert "ref.id = 2 and lower(region) = eu: silver.orders should have the row of batch 2" in " ".join(said.split())
    printed = len(shell.said())
    assert run_why(shell, "orders", ["ref.id=1", "lower(region)=us"], None, None, as_json=True)
    answer = WhyAnswer.model_validate_json(shell.said()[printed:], strict=True)
    assert [(row.batch, row.fate, row.order) for row in answer.rows] == [(1, "won", {"o1": 99})]
    bronze, own = answer.sql
    for query in (bronze, own):
        before = len(shell.said())
        run_sql(shell, query, None, 10)
        assert "another key" in shell.said()[before:], query
    for name, key, problem in (
        ("silver.order", ["ref.id=1"], "there is no table 'order'"),
        ("silver.orders", ["id=1", "lower(region)=eu"], "'id=1' gives no part of a key: the key of silver.orders is"),
        ("silver.orders", ["ref.id=x", "lower(region)=eu"], "ref.id is int, and 'x' is not such a value"),
    ):
        with pytest.raises(ConfigurationError, match=problem):
            run_why(shell, name, key, None, None)


def test_a_registered_table_s_rows_have_the_batch_of_their_file(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake(
        [{"name": "orders", "prefix": "orders/", "silver": {"keys": ["id"], "order": "at", "every": 9}}]
    )
    # A capital letter: the second file enters as a copy. Its order is equal, though its text is another one.
    for name, row in (("a b", {"id": 1, "at": 0.0, "v": 1.5}), ("b", {"ID": 1, "at": -0.0, "v": 2.5})):
        lake.put(
            f"orders/{name}.parquet", kit.parquet([row, {**row, **{key: 2 for key in row if key in ("id", "ID")}}])
        )
        kit.run(lake, "orders")
    kit.merge(lake, "orders")
    found = why(lake, "orders", "id=1")
    assert fates_of(found) == [(2, "won"), (1, "tie")]
    assert [event.found.address for event in found.events] == [
        f"s3://{lake.bucket}/orders/b.parquet",
        f"s3://{lake.bucket}/orders/a b.parquet",
    ]
    assert sorted(row["v"] for row in lake.sql(found.sql[0])) == [1.5, 2.5]
    assert found.sql[0].endswith(" WHERE `id` = CAST('1' AS bigint) ORDER BY `at` DESC NULLS LAST")
    # The condition reaches the scan, so files whose statistics exclude the key are not read.
    work = merge_state(lake.lake, lake.spec("orders"))
    assert work is not None
    rows = KeyRows.from_lake(lake.lake, work)
    plan = lake.lake.delta.session.sql(f"EXPLAIN {found.sql[0]}").collect()[0][0]
    assert rows.condition(["1"]) == "`id` = CAST('1' AS bigint)"
    assert "EqualTo(id,1)" in plan
    # The files are rewritten: their batches are not known any more, and a row of an equal order may be either.
    kit.query(lake, "OPTIMIZE {t}", t=kit.location(lake, "orders"))
    found = why(lake, "orders", "id=1")
    assert found.is_right
    assert sorted(fates_of(found), key=repr) == [(None, "tie"), (None, "won")]
    assert found.events[0].event == "its file was rewritten, so its batch is not known"
