"""The check `silver_equals_bronze` finds a silver row that bronze does not give, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest

from tests.spark.conftest import Shell
from tidegate.assets.silver.comparison_check import COMPARISON_JOB
from tidegate.platform.cli.commands.why import WhyAnswer, run_why
from tidegate.platform.silver.audit import comparison, key_selection
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.silver.audit.key_history import key_history
from tidegate.platform.silver.merge import merge_table
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
SILVER = {"keys": ["id", "region"], "order": ["at"], "delete_when": "gone", "every": 10}
LOADED = {
    "name": "items",
    "prefix": "items/",
    "format": "json",
    "columns": {"id": "int", "region": "string", "at": "int", "gone": "boolean", "v": "struct<a: int, b: string>"},
    "silver": SILVER,
}
HISTORY = {
    "name": "customers",
    "prefix": "customers/",
    "format": "json",
    "columns": {"id": "int", "at": "int", "op": "string", "v": "string", "seen": "int"},
    "silver": {
        "stored_as": "scd2",
        "keys": ["id"],
        "order": ["at"],
        "apply_as_deletes": "op = 'd'",
        "except_columns": ["op"],
        "track_history_except_columns": ["seen"],
        "every": 10,
    },
}
REGISTERED = {"name": "orders", "prefix": "orders/", "silver": {"keys": ["id"], "order": "at", "every": 10}}


def _land(lake: TestLake, kit: Any, name: str, *rows: tuple[int, str | None, int, bool]) -> None:
    body = [
        {"id": id, "region": region, "at": at, "gone": gone, "v": {"a": at, "b": name}} for id, region, at, gone in rows
    ]
    lake.put(f"items/{name}.json", kit.lines(*body))
    kit.run(lake, "items")


def _check(lake: TestLake) -> tuple[bool, Any, dict[str, Any]]:
    """Run the check of the only silver table, as the sensor requests it."""
    with dg.DagsterInstance.ephemeral() as instance:
        result = lake.definitions.resolve_job_def(COMPARISON_JOB).execute_in_process(instance=instance)
    (found,) = result.get_asset_check_evaluations()
    assert found.check_name == "silver_equals_bronze"
    metadata = {name: value.value for name, value in found.metadata.items()}
    wrong = [line.removeprefix("- ").strip("`") for line in metadata.get("why", "").splitlines()]
    assert len(wrong) == metadata["wrong"]
    return found.passed, wrong, metadata


def test_a_row_that_bronze_does_not_give_fails_the_check_with_its_key(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([LOADED])
    assert compare(lake.lake, lake.spec("items")) is None
    _land(lake, kit, "1", *((id, "eu", id, False) for id in range(8)), (8, None, 1, False), (9, "eu", 2, True))
    kit.merge(lake, "items")
    passed, wrong, metadata = _check(lake)
    assert (passed, wrong, metadata["keys"], metadata["whole_tables"]) == (True, [], 10, True)
    # Late rows, ties and deletes; then a batch that silver does not have yet.
    _land(lake, kit, "2", (1, "eu", 0, False), (2, "eu", 2, False), (3, "eu", 9, True), (9, "eu", 1, False))
    kit.merge(lake, "items")
    assert _check(lake)[0]
    with monkeypatch.context() as patched:
        # Of a large table, few keys are chosen by their hash. Those of the last batch are compared anyhow.
        patched.setattr(key_selection, "_RANKED", 0)
        last = compare(lake.lake, lake.spec("items"))
        assert last is not None
        assert (last.keys, last.wrong) == (2, ())
    _land(lake, kit, "3", (1, "eu", 50, False), (4, "eu", 50, True))

    def wrong_keys() -> set[tuple[str, ...]]:
        found = compare(lake.lake, lake.spec("items"))
        assert found is not None
        return set(found.wrong)

    assert wrong_keys() == set()
    table = lake.lake.store.uri("silver", "items")
    before = lake.lake.delta.table_state(table).version
    # The row of the key 5 gets the key 77, and the one of the key 0 is there twice.
    for statement in (
        "INSERT INTO {t} SELECT * FROM {t} WHERE id = 0",
        "UPDATE {t} SET v.b = if(id = 8, 'x', v.b), at = CASE id WHEN 7 THEN 1 WHEN 6 THEN 99 ELSE at END, "
        "_deleted = _deleted AND id <> 9, id = if(id = 5, 77, id) WHERE id BETWEEN 5 AND 9",
    ):
        kit.query(lake, statement, t=table)
    assert wrong_keys() == {("id=8", "region=NULL"), *((f"id={id}", "region=eu") for id in (0, 5, 6, 7, 9, 77))}
    twice = key_history(lake.lake, lake.spec("items"), ["id=0", "region=eu"])
    assert (twice.is_right, twice.verdict.partition(":")[0]) == (
        False,
        "silver.items has 2 rows of the key, and should have 1",
    )
    kit.query(lake, f"RESTORE TABLE {{t}} TO VERSION AS OF {before}", t=table)
    # A tombstone that is removed after its days is not a fault.
    kit.query(lake, "DELETE FROM {t} WHERE id = 3", t=table)
    assert wrong_keys() == set()

    kit.query(lake, "UPDATE {t} SET v.a = -1 WHERE id IN (0, 8)", t=table)
    passed, wrong, metadata = _check(lake)
    assert not passed
    assert sorted(wrong) == [
        "tidegate why silver.items id=0 region=eu",
        "tidegate why silver.items id=8 region=NULL",
    ]
    # Of larger tables some files are read. A key whose rows are in others raises no alarm.
    monkeypatch.setattr(comparison, "MAX_FILES", 1)
    found = compare(lake.lake, lake.spec("items"))
    assert found is not None
    assert (len(found.bronze.paths), len(found.silver.paths)) == (1, 1)
    assert not found.bronze.is_whole
    assert set(found.wrong) <= {("id=0", "region=eu"), ("id=8", "region=NULL")}


def test_rows_that_left_bronze_or_were_written_again_raise_no_alarm(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([REGISTERED])
    for name, rows in (("a", [(1, 1), (2, 1)]), ("b", [(1, 1), (3, 1)])):
        lake.put(f"orders/{name}.parquet", kit.parquet([{"id": id, "at": at, "v": name} for id, at in rows]))
        kit.run(lake, "orders")
    kit.merge(lake, "orders")

    def wrong_keys() -> set[tuple[str, ...]]:
        found = compare(lake.lake, lake.spec("orders"))
        assert found is not None
        return set(found.wrong)

    table = lake.lake.store.uri("silver", "orders")
    assert wrong_keys() == set()
    kit.query(lake, "UPDATE {t} SET v = 'c' WHERE id = 1", t=table)
    assert wrong_keys() == {("id=1",)}
    kit.query(lake, "UPDATE {t} SET v = 'b' WHERE id = 1", t=table)
    # Silver keeps rows whose file was removed, since on_removed is ignore.
    lake.delete("orders/b.parquet")
    kit.run(lake, "orders")
    kit.merge(lake, "orders")
    assert wrong_keys() == set()
    kit.query(lake, "OPTIMIZE {t}", t=kit.location(lake, "orders"))
    assert wrong_keys() == set()


def test_intervals_that_bronze_does_not_give_fail_the_check_and_why_shows_them(
    tidegate_lake: MakeLake, kit: Any, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([HISTORY])
    batches = [
        [(id, 10, "u", "a") for id in range(9)],
        [(id, 30, "u", "b" if id < 7 else "a") for id in range(9)],
        [(1, 20, "u", "late"), (2, 40, "d", "")],
    ]
    for number, batch in enumerate(batches):
        body = [{"id": id, "at": at, "op": op, "v": v, "seen": number} for id, at, op, v in batch]
        lake.put(f"customers/{number}.json", kit.lines(*body))
        kit.run(lake, "customers")
        if number:
            kit.merge(lake, "customers")
    passed, wrong, metadata = _check(lake)
    assert (passed, wrong, metadata["keys"], metadata["suspects"]) == (True, [], 9, 0)

    found = key_history(lake.lake, lake.spec("customers"), ["id=1"])
    assert found.verdict == "silver.customers has 3 rows of the key: the newest holds since 30"
    assert [(event.row.n, str(event.fate), event.why) for event in found.events] == [
        (2, "opened", "ended the interval from 20, and opened the interval from 30, which holds now"),
        (
            3,
            "cut",
            "came late, after batch 2, cut the interval from 10, and opened the interval from 20, which ended at 30 by "
            "the next change",
        ),
        (1, "opened", "opened the interval from 10, which ended at 20 by the next change"),
    ]
    monkeypatch.setenv("TIDEGATE_LAKE", str(lake.path))
    shell.use(lake)
    assert run_why(shell, "customers", ["id=2"], None, None, as_json=True)
    answer = WhyAnswer.model_validate_json(shell.said(), strict=True)
    assert [row.fate for row in answer.rows] == ["ended", "opened", "opened"]
    assert [(row["valid_from"], row["valid_to"], row["is_current"]) for row in answer.history] == [
        ({"o1": 40}, None, False),
        ({"o1": 30}, {"o1": 40}, False),
        ({"o1": 10}, {"o1": 30}, False),
    ]
    assert [row["at"] for row in lake.sql(answer.sql[1])] == [10, 30, 40]

    statement = (
        "UPDATE {t} SET valid_to = if(id = 1, 30, valid_to), is_current = is_current OR id = 2, "
        "valid_from = if(id = 3, 10, valid_from), v = if(id = 4, 'x', v), at = if(id = 5, 35, at), "
        "_changed_batch = if(id = 6, 1, _changed_batch), _joined = _joined AND id <> 7 "
        "WHERE (id = 1 AND at = 10) OR (id BETWEEN 2 AND 6 AND at = 30) OR (id = 7 AND at = 10)"
    )
    table = lake.lake.store.uri("silver", "customers")
    kit.query(lake, statement, t=table)
    kit.query(lake, "INSERT INTO {t} SELECT * FROM {t} WHERE id = 8 AND at = 30", t=table)
    compared = compare(lake.lake, lake.spec("customers"))
    assert compared is not None
    assert set(compared.wrong) == {(f"id={id}",) for id in (1, 2, 3, 4, 5, 7, 8)}
    twice = key_history(lake.lake, lake.spec("customers"), ["id=8"])
    assert twice.verdict.startswith("silver.customers has 2 rows of the change of order 30, and should have 1: ")
    assert not run_why(shell, "silver.customers", ["id=1"], None, None)
    said = " ".join(shell.said().split())
    assert "silver.customers should have the row from 10 to 20, and has the row from 10 to 30: somebody changed" in said


def test_keys_of_any_type_are_compared(tidegate_lake: MakeLake, kit: Any) -> None:
    """Structs have JSON as their text, and binary values base64, because they may not be UTF-8."""
    columns = {"at": "int", "ref": "struct<oid: string, n: int>", "raw": "binary"}
    silver = {"keys": ["ref", "raw"], "order": "at", "every": 10}
    lake = tidegate_lake(
        [{"name": "plain", "prefix": "plain/", "format": "json", "columns": columns, "silver": silver}]
    )
    rows = [{"at": 1, "ref": {"oid": oid, "n": None}, "raw": "/+8="} for oid in ("a", "b")]
    lake.put("plain/1.json", kit.lines(*rows))
    kit.run(lake, "plain")
    for table in (lake.spec("plain"), kit.second(lake, "plain", "history", {**silver, "stored_as": "scd2"})):
        merge_table(lake.lake, table)
        kit.query(lake, "UPDATE {t} SET at = 7 WHERE ref.oid = 'b'", t=lake.lake.store.uri("silver", table.name))
        found = compare(lake.lake, table)
        assert found is not None
        assert (found.keys, found.wrong) == (2, (('ref={"oid":"b"}', "raw=/+8="),))
    assert not key_history(lake.lake, lake.spec("plain"), found.wrong[0]).is_right
    assert key_history(lake.lake, lake.spec("plain"), ['ref={"oid": "a"}', "raw=/+8="]).is_right
