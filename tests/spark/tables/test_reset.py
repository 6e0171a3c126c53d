"""A reset starts a table over. Each file is in the new generation once, whatever dies or sleeps meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.spark.conftest import Shell
from tests.support.lakes.seams import Standing, dying_in, seams_watched
from tidegate.assets.operations.jobs import redrive_job
from tidegate.platform.bronze.options import RunOptions
from tidegate.platform.bronze.run import run_table
from tidegate.platform.cli.commands.redrive import Kind, build_choice, run_redrive
from tidegate.platform.cli.commands.reset import run_reset
from tidegate.platform.core.errors import DataError
from tidegate.platform.lake.lake_root.batches import Batches, GenerationRetired
from tidegate.platform.operations import reset
from tidegate.platform.operations.reset import SEAMS, plan_reset, reset_table
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
SILVER = {"keys": ["id"], "order": "at", "every": 10}


def _reset(lake: TestLake, table: str, **options: Any) -> Any:
    return reset_table(lake.lake, lake.key(table), by="somebody", **options)


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_wedged_table_starts_over_and_a_reset_that_dies_is_finished_by_repeating_it(
    kind: str, tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "format": kind, "silver": SILVER}])

    def put(name: str, *ids: int, at: int = 1) -> None:
        rows = [{"id": id, "at": at, "v": name} for id in ids]
        lake.put(f"orders/{name}.{kind}", kit.lines(*rows) if kind == "json" else kit.parquet(rows))

    put("a", 1, 2)
    put("b", 3)
    lake.put(f"orders/empty.{kind}", b"")
    (first,) = kit.run(lake, "orders")
    kit.merge(lake, "orders")
    before, files = kit.bronze(lake, "orders", "id"), lake.clients.s3.list_objects_v2(Bucket=lake.bucket)["Contents"]
    old = lake.lake.table(lake.key("orders"))
    # No run can ever commit this decided batch.
    stray = replace(first.batch, n=2, generation="somebody else's", create=None, adds=(), rows=(), digest="")
    wedge = replace(stray, after_version=first.landed.version).seal()
    old.batches.decide(wedge)
    put("c", 4)
    for _ in range(2):
        with pytest.raises(PySparkException, match=r"OWNERSHIP.*tidegate reset"):
            kit.run(lake, "orders")

    for seam in SEAMS:
        with dying_in(reset, seam):
            _reset(lake, "orders")
        if seam not in ("birth", "list"):
            with pytest.raises((GenerationRetired, PySparkException)):
                kit.run(lake, "orders")
    found = _reset(lake, "orders")
    assert found.table.birth.generation_folder, "the birth record was there before the last repetition"

    (done,) = kit.run(lake, "orders", listing=False)
    assert (done.batch.n, done.landed.outcome) == (1, "committed")
    assert kit.bronze(lake, "orders", "id") == [(1,), (2,), (3,), (4,)]
    fate = kit.fate(lake, "orders")
    assert {key: status for key, (status, _) in fate.items()} == {
        f"a.{kind}": "committed", f"b.{kind}": "committed", f"c.{kind}": "committed", f"empty.{kind}": "quarantined",
    }  # fmt: skip
    assert kit.run(lake, "orders") == []
    # The producers' files, the old ledger and the old versions of the table still exist.
    now = {item["Key"]: item["ETag"] for item in lake.clients.s3.list_objects_v2(Bucket=lake.bucket)["Contents"]}
    assert {item["Key"]: item["ETag"] for item in files}.items() <= now.items()
    assert len(old.ledger.committed_readings(old.ledger.clock()[0])) == 2
    assert sorted(kit.query(lake, "SELECT id FROM {t} VERSION AS OF 0", t=kit.location(lake, "orders"))) == before
    # Silver treats it as another table. Of two rows with the same order, the row of the new generation wins.
    merged = kit.merge(lake, "orders")
    assert merged.why_full == "silver holds nothing of this bronze table as it is now"
    assert kit.silver(lake, "orders", "id, _changed_batch") == [(1, 1), (2, 1), (3, 1), (4, 1)]
    assert kit.merge(lake, "orders") is None


@pytest.mark.parametrize("asleep_at", ["look", "decide", "commit"])
def test_a_run_that_slept_through_a_reset_changes_nothing(asleep_at: str, tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "format": "parquet"}])
    table_key = lake.key("orders")
    lake.put("orders/a.parquet", kit.parquet([{"id": 1}]))
    kit.run(lake, "orders")
    lake.put("orders/b.parquet", kit.parquet([{"id": 2}]))
    with seams_watched():
        sleeper = Standing(
            asleep_at, lambda: run_table(lake.lake.table(table_key), RunOptions(run_id="sleeper", listing=True))
        )
        sleeper.wait_reached()
        _reset(lake, "orders")
        lake.put("orders/c.parquet", kit.parquet([{"id": 3}]))
        kit.run(lake, "orders")
        sleeper.resume()
        sleeper.wait_ended()
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(1,), (2,), (3,)]
    assert {status for status, _ in kit.fate(lake, "orders").values()} == {"committed"}
    assert lake.lake.store.inbox.waiting_manifests() == []


def test_a_run_that_removes_files_and_a_reset_lose_no_row_between_them(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that has recorded its batch sleeps through a reset.

    Then a file disappears after a reset has counted the files.
    """
    sales = {"name": "sales", "prefix": "sales/", "format": "csv", "after_load": "delete"}
    lake = tidegate_lake([sales])
    table_key = lake.key("sales")
    lake.put("sales/a.csv", "id\n1\n")
    with seams_watched():
        sleeper = Standing(
            "record-deferred", lambda: run_table(lake.lake.table(table_key), RunOptions(run_id="sleeper", listing=True))
        )
        sleeper.wait_reached()
        found = _reset(lake, "sales")
        assert found.lost == ()
        sleeper.resume()
        with pytest.raises(GenerationRetired):
            sleeper.finished()
    count = lake.clients.s3.list_objects_v2(Bucket=lake.bucket, Prefix="sales/")["KeyCount"]
    assert count == 1, "the run found that its generation had ended"
    kit.run(lake, "sales", listing=False)
    assert kit.bronze(lake, "sales", "cast(id AS int)") == [(1,)]

    kit.configure(lake, after_load="keep")
    lake.put("sales/b.csv", "id\n2\n")
    kit.run(lake, "sales")
    lake.put("sales/a.csv", "id\n1\n")
    kit.run(lake, "sales")
    before = kit.bronze(lake, "sales", "cast(id AS int)")
    retire = Batches.retire

    def delete_first(batches: Batches, recorded: int, by: str) -> Any:
        lake.delete("sales/b.csv")
        return retire(batches, recorded, by)

    with monkeypatch.context() as patch:
        patch.setattr(Batches, "retire", delete_first)
        with pytest.raises(DataError, match=r"such as sales/b.csv.*They were lost after the reset had been planned"):
            _reset(lake, "sales", accept_loss=True)
    assert kit.bronze(lake, "sales", "cast(id AS int)") == before, "nothing was emptied"
    lake.put("sales/b.csv", "id\n2\n")
    _reset(lake, "sales", accept_loss=True)
    kit.run(lake, "sales", listing=False)
    assert kit.bronze(lake, "sales", "cast(id AS int)") == before


def test_a_wrong_birth_is_put_right_and_rows_that_would_not_come_back_are_asked_for(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    """The table is registered, then loaded, then registered again."""
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "format": "parquet"}])
    with pytest.raises(DataError, match="nothing to reset"):
        plan_reset(lake.lake, lake.key("orders"))
    for id in (1, 2):
        lake.put(f"orders/{id}.parquet", kit.parquet([{"id": id}]))
    kit.run(lake, "orders")
    prefix = kit.location(lake, "orders")

    kit.configure(lake, mode="load")
    (drifted,) = lake.lake.drift(lake.lake.table(lake.key("orders")))
    assert "born with mode register, lake.yaml says load" in drifted
    found = plan_reset(lake.lake, lake.key("orders"))
    assert (found.registered, found.objects, found.committed, found.rows, found.lost) == (False, 2, 2, 2, ())
    _reset(lake, "orders")
    kit.run(lake, "orders", listing=False)
    assert kit.bronze(lake, "orders", "id") == [(1,), (2,)]
    assert lake.lake.delta.table_state(prefix).files == 0, "one table left: the rows would be there twice"

    kit.configure(lake, columns={"id": "date"})
    with pytest.raises(DataError, match=r"none of the 2 files that were tried would get in.*column id is bigint"):
        _reset(lake, "orders")
    assert kit.bronze(lake, "orders", "id") == [(1,), (2,)]
    assert not [*lake.lake.store.objects.list_under(lake.lake_bucket, lake.lake.store.key("staging", ""))]
    kit.configure(lake, columns={})

    lake.delete("orders/1.parquet")
    kit.configure(lake, mode="register")
    with pytest.raises(DataError, match=r"1 rows came from 1 objects, such as orders/1.parquet"):
        _reset(lake, "orders")
    assert kit.bronze(lake, "orders", "id") == [(1,), (2,)]
    _reset(lake, "orders", accept_loss=True)
    kit.run(lake, "orders", listing=False)
    assert kit.location(lake, "orders") == prefix
    assert kit.bronze(lake, "orders") == [(2,)]
    state = lake.lake.delta.table_state(prefix)
    assert state.properties["delta.deletedFileRetentionDuration"] == "interval 3650 days"


def test_quarantined_objects_are_read_again_once_their_cause_is_fixed(
    tidegate_lake: MakeLake,
    kit: Any,
    shell: Shell,
) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "mode": "load", "format": "parquet"}])
    for id in (1, 2):
        lake.put(f"orders/{id}.json", kit.lines({"id": id}))
    kit.run(lake, "orders")
    assert {status for status, _ in kit.fate(lake, "orders").values()} == {"quarantined"}
    kit.configure(lake, format="json")
    assert kit.run(lake, "orders") == [], "the same bytes stay there until somebody says otherwise"
    shell.use(lake)

    def redrive(key: str, **options: Any) -> None:
        given = {"rate": 100, "yes": False, **options}
        run_redrive(shell, Kind.OBJECTS, "orders", build_choice("parquet", key, "2020-01-01", ""), None, None, **given)

    redrive("*/1.json")
    run_reset(shell, "orders", None, None, yes=False, accept_loss=False)
    config = {"ops": {"redrive_op": {"config": {"table": lake.key("orders"), "key": "*/2.json"}}}}
    assert redrive_job(lake.config).execute_in_process(run_config=config, resources={"lake": lake.resource}).success
    assert lake.lake.store.inbox.waiting_manifests() == [], "all three only say what they would do"
    assert "1 in quarantine" in shell.said()
    assert "2 objects under" in shell.said()
    assert "Nothing was changed. To do it: tidegate reset orders --yes" in shell.said()
    redrive("*/1.json", yes=True)
    kit.run(lake, "orders", listing=False)
    assert kit.bronze(lake, "orders", "id") == [(1,)]
    redrive("*", yes=True)
    (entry, *_) = lake.lake.store.operations.entries()
    assert {row["manifest"] for row in kit.ledger(lake, "orders") if row["status"] == "committed"} == {
        *entry["manifests"]
    }
    kit.run(lake, "orders", listing=False)
    assert kit.bronze(lake, "orders", "id") == [(1,), (2,)]
    redrive("*", yes=True)
    assert "nothing in quarantine matches" in shell.said()
