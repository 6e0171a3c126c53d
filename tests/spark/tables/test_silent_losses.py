"""The losses that Spark, Delta and S3 cause without an error. Each loss has a guard."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tidegate.platform.bronze.prepare.formats.json_files import Json
from tidegate.platform.bronze.record import record
from tidegate.platform.bronze.small_objects import SMALL_BYTES
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.manifest import Manifest
from tidegate.platform.core.errors import ConfigurationError, DataError
from tidegate.platform.lake.spark.session import isolated_session
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]


def _orders(**silver: Any) -> dict[str, Any]:
    return {"name": "orders", "prefix": "orders/", "silver": {"keys": ["id"], "order": "v", "every": 10, **silver}}


def test_l1_vacuum_of_a_registered_table_keeps_files_that_are_not_registered_yet(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake([_orders()])
    lake.put("orders/a.parquet", kit.parquet([{"id": 1, "v": 1}]))
    kit.run(lake, "orders")
    lake.put("orders/pending.parquet", kit.parquet([{"id": 2, "v": 1}]))
    location = kit.location(lake, "orders")
    table = f"delta.`{location}`"
    assert kit.state(lake, "orders").properties["delta.deletedFileRetentionDuration"] == "interval 3650 days"
    with isolated_session(lake.stack.spark.remote) as session:
        session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        # The danger is real: without the guards, a VACUUM deletes the pending file.
        unguarded = session.sql(f"VACUUM {table} RETAIN 0 HOURS DRY RUN").collect()
        assert [row["path"].rsplit("/", 1)[-1] for row in unguarded] == ["pending.parquet"]
        assert session.sql(f"VACUUM {table} DRY RUN").collect() == []
        session.sql(f"VACUUM {table}").collect()
        session.sql(f"VACUUM {table} LITE RETAIN 0 HOURS").collect()
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(1, 1), (2, 1)]


def test_l4_a_removed_file_leaves_bronze_and_does_not_stick_silver(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake(
        [
            _orders(on_removed="ignore"),
            {
                "name": "exact",
                "prefix": "exact/",
                "silver": {"keys": ["id"], "order": "v", "every": 10, "on_removed": "full"},
            },
        ]
    )
    for table in ("orders", "exact"):
        lake.put(f"{table}/a.parquet", kit.parquet([{"id": 1, "v": 1}, {"id": 2, "v": 1}]))
        lake.put(f"{table}/b.parquet", kit.parquet([{"id": 2, "v": 2}, {"id": 3, "v": 1}]))
        kit.run(lake, table)
        kit.merge(lake, table)
        lake.delete(f"{table}/b.parquet")
        (done,) = kit.run(lake, table)
        assert done.batch.counts() == {"removed": 1}
        assert kit.bronze(lake, table) == [(1, 1), (2, 1)]

    ignoring, exact = kit.merge(lake, "orders"), kit.merge(lake, "exact")

    assert ignoring.why_full is None
    assert kit.silver(lake, "orders", "id, v") == [(1, 1), (2, 2), (3, 1)]
    assert "removed" in exact.why_full
    assert kit.silver(lake, "exact", "id, v") == [(1, 1), (2, 1)]


def test_l5_an_overwritten_registered_key_is_refused_loudly_instead_of_reading_as_empty(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake([_orders()])
    lake.put("orders/a.parquet", kit.parquet([{"id": 1, "v": 1}]))
    lake.put("orders/b.parquet", kit.parquet([{"id": 2, "v": 1}]))
    kit.run(lake, "orders")
    lake.put("orders/a.parquet", kit.parquet([{"id": n, "v": n} for n in range(100)]))

    result = lake.materialize("bronze", "orders")

    assert kit.checks(result) == {"write_once_keys": False, "nothing_quarantined": False, "schema_unchanged": True}
    assert [row["cause"] for row in kit.ledger(lake, "orders") if row["status"] == "quarantined"] == ["overwritten"]
    assert kit.bronze(lake, "orders") == [(2, 1)]
    (removed,) = [action["remove"] for action in kit.log(lake, "orders/") if "remove" in action]
    assert removed["path"] == "a.parquet"

    # The key stays refused, whatever is written there and however often a run reads it. A new key with it is accepted.
    lake.put("orders/a.parquet", kit.parquet([{"id": 1, "v": 1}]))
    lake.put("orders/a2.parquet", kit.parquet([{"id": 1, "v": 2}]))
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders") == [(1, 2), (2, 1)]


def test_l7_a_truncated_file_is_never_registered_and_every_add_counts_its_rows(
    tidegate_lake: MakeLake, kit: Any
) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/"}])
    whole = kit.parquet([{"id": n, "v": n} for n in range(1000)])
    lake.put("orders/whole.parquet", whole)
    lake.put("orders/none.parquet", kit.parquet([{"id": 1, "v": 1}])[:0] + kit.parquet([{"id": 5000, "v": 1}]))
    for cut in (10, len(whole) // 2, len(whole) - 1):
        lake.put(f"orders/cut{cut}.parquet", whole[:cut])
    # The end is whole and the middle is missing. Only the offsets in the footer show that.
    lake.put("orders/hollow.parquet", whole[:100] + whole[len(whole) // 2 :])

    (done,) = kit.run(lake, "orders")

    assert done.batch.counts() == {"committed": 2, "quarantined": 4}
    adds = [action["add"] for action in kit.log(lake, "orders/") if "add" in action]
    assert {add["path"]: json.loads(add["stats"])["numRecords"] for add in adds} == {
        "whole.parquet": 1000,
        "none.parquet": 1,
    }
    # Without numRecords, a DELETE of all rows of a file would leave the file live.
    kit.query(lake, "DELETE FROM {t}", t=kit.location(lake, "orders"))
    assert kit.bronze(lake, "orders") == []


def test_a_file_that_another_writer_s_commit_added_is_not_asked_for_for_ever(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/"}])
    lake.put("orders/a.parquet", kit.parquet([{"id": n, "v": n} for n in range(10)]))
    lake.intake()
    kit.run(lake, "orders")
    # A person is erased. Delta writes the remaining rows as a new file under the prefix, and S3 reports that file.
    kit.query(lake, "DELETE FROM {t} WHERE id < 4", t=kit.location(lake, "orders"))
    lake.intake()
    done = kit.run(lake, "orders", listing=False)
    assert [(result.landed.outcome, result.batch.counts()) for result in done] == [
        ("void", {"committed": 1}),
        ("committed", {"committed": 1}),
    ]
    assert done[1].batch.adds == ()
    assert lake.lake.store.inbox.waiting_manifests(lake.key("orders")) == []
    assert len(kit.bronze(lake, "orders")) == 6
    (row,) = done[1].batch.rows
    assert row.reason == "another writer's commit had added it to the table"
    lake.put("orders/b.parquet", kit.parquet([{"id": 100, "v": 1}]))
    lake.delete(row.key)
    kit.run(lake, "orders")
    assert [values[0] for values in kit.bronze(lake, "orders")] == [100], "it left with its file, as any other"


@pytest.mark.parametrize("properties", ["", "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"])
@pytest.mark.limit(
    "Tables",
    "A prefix with a Delta table of somebody else is refused, unless `tidegate adopt` makes it a registered table.",
)
def test_l8_a_table_that_others_made_at_the_prefix_is_refused_with_the_remedy(
    tidegate_lake: MakeLake, kit: Any, properties: str
) -> None:
    lake = tidegate_lake([_orders()])
    location = f"s3a://{lake.bucket}/orders"
    kit.query(lake, f"CREATE TABLE {{t}} (id bigint, v bigint) USING delta {properties}", t=location)
    lake.put("orders/a.parquet", kit.parquet([{"id": 1, "v": 1}]))

    with pytest.raises(PySparkException, match="TIDEGATE_OWNERSHIP") as caught:
        kit.run(lake, "orders")

    first_line = str(caught.value).splitlines()[0]
    assert "no lake owns" in first_line
    assert "move it away" in first_line
    assert lake.lake.delta.table_state(location).files == 0


def test_l8_a_mapped_table_is_refused_even_when_this_lake_owns_it(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([_orders()])
    lake.put("orders/a.parquet", kit.parquet([{"id": 1, "v": 1}]))
    kit.run(lake, "orders")
    location = kit.location(lake, "orders")
    kit.query(lake, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", t=location)
    kit.query(lake, "ALTER TABLE {t} RENAME COLUMN v TO w", t=location)
    lake.put("orders/b.parquet", kit.parquet([{"id": 2, "w": 1}]))

    with pytest.raises(DataError, match=r"column w of bronze\.orders is v in data files"):
        kit.run(lake, "orders")
    assert kit.bronze(lake, "orders", "id, w") == [(1, 1)]


def test_l6_a_loaded_parquet_file_loses_no_column(tidegate_lake: MakeLake, kit: Any) -> None:
    """Spark reads only the columns it is asked for. It skips others, and files with none of them, without an error."""
    lake = tidegate_lake(
        [{"name": "orders", "prefix": "orders/", "mode": "load", "format": "parquet", "schema": "strict"}]
    )
    lake.put("orders/a.parquet", kit.parquet([{"id": 1, "v": 1}]))
    lake.put("orders/b.parquet", kit.parquet([{"id": 2, "w": "x"}]))
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders", "id, v, w") == [(1, 1, None), (2, None, "x")]
    lake.put("orders/c.parquet", kit.parquet([{"id": 3, "more": 1}]))
    lake.put("orders/d.parquet", kit.parquet([{"other": 1}]))
    lake.put("orders/e.parquet", b"PAR1 neither")
    lake.put("orders/f.parquet", kit.parquet([{"id": 4, "v": 4}]))
    kit.run(lake, "orders")
    assert kit.bronze(lake, "orders", "id, v, w") == [(1, 1, None), (2, None, "x"), (4, 4, None)]
    fate = kit.fate(lake, "orders")
    assert "column more is not in the table" in fate["c.parquet"][1]
    assert "column other is not in the table" in fate["d.parquet"][1]
    assert fate["e.parquet"][0] == "quarantined"


def test_l6_columns_are_not_lost_when_a_first_batch_is_halved(tidegate_lake: MakeLake, kit: Any) -> None:
    """The first half gives the table its columns. A file of the second half has one column more."""
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "format": "csv"}])
    lake.put("orders/a.csv", "id,v\n1,1\n")
    lake.put("orders/b.csv", "id,v,extra\n2,2,x\n")
    lake.put("orders/p.csv.gz", gzip.compress(b"id,v\n" + b"3,3\n" * 5000)[:-20])
    lake.put("orders/z.csv.gz", gzip.compress(b"id,v\n4,4\n") + b"\0" * 512)
    kit.run(lake, "orders")
    fate = kit.fate(lake, "orders")
    assert fate["p.csv.gz"][0] == fate["z.csv.gz"][0] == "quarantined"
    assert fate["a.csv"][0] == "committed"
    assert fate["b.csv"][0] == "committed"
    assert kit.bronze(lake, "orders", "id, v, extra") == [(1, 1, None), (2, 2, "x")]


def test_l6_objects_that_go_or_change_while_they_are_read_are_put_off_and_the_others_loaded(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One missing path fails Spark's read of the whole list."""
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "format": "json"}])
    # The look reads smaller files as a whole.
    blank = f"{' ' * SMALL_BYTES}\n"
    for name, id in (("a", 1), ("gone", 2), ("b", 3), ("changed", 4)):
        lake.put(f"items/{name}.json", kit.lines({"id": id}) + blank)
    read = Json.read

    def after_a_change(*args: Any) -> Any:
        monkeypatch.setattr(Json, "read", read)
        lake.delete("items/gone.json")
        lake.put("items/changed.json", kit.lines({"id": 5}) + blank)
        return read(*args)

    monkeypatch.setattr(Json, "read", after_a_change)
    first, *_ = kit.run(lake, "items")
    assert {hint.key for hint in first.batch.deferred} == {"items/gone.json", "items/changed.json"}
    assert {(row.key, row.status) for row in first.batch.rows} == {
        ("items/a.json", "committed"), ("items/b.json", "committed"),
    }  # fmt: skip
    kit.run(lake, "items")
    assert kit.bronze(lake, "items", "id") == [(1,), (3,), (5,)]


def test_l6_a_json_field_that_a_nested_column_does_not_have_is_not_dropped(tidegate_lake: MakeLake, kit: Any) -> None:
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "format": "json", "schema": "strict"}])
    good: dict[str, Any] = {"id": 1, "p": {"a": 1, "in": {"x": 1}}, "many": [{"y": 1}, {"y": 2}]}
    lake.put("items/1.json", kit.lines(good))
    kit.run(lake, "items")
    bad = [
        {**good, "p": {**good["p"], "b": 1}},
        {**good, "p": {"a": 1, "in": {"x": 1, "z": 1}}},
        {**good, "many": [{"y": 1}, {"y": 2, "w": 1}]},
    ]
    lake.put("items/2.json", kit.lines({**good, "id": 2}, *bad, {"id": 3, "p": None}, {"id": 4, "many": []}))
    kit.run(lake, "items")
    assert kit.bronze(lake, "items", "id") == [(1,), (2,), (3,), (4,)]
    found = kit.query(
        lake, f"SELECT reason FROM json.`{lake.lake.store.uri('quarantine', 'rows', lake.key('items'))}/*`"
    )
    reasons = sorted(row["reason"].rpartition(": ")[2] for row in found)
    assert reasons == ["many.w", "p.b", "p.in.z"]


def test_l9_a_batch_that_is_not_the_one_that_landed_touches_neither_ledger_nor_inbox(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer slept while its batch's object was cleaned up.

    It puts its stale batch, and the commit reports that batch n has landed.
    """
    lake = tidegate_lake([{"name": "items", "prefix": "items/", "format": "json"}])
    lake.put("items/a.json", kit.lines({"id": 1}))
    (landed,) = kit.run(lake, "items")
    before = kit.ledger(lake, "items")
    store, table_key = lake.lake.store, lake.key("items")
    batches = lake.lake.table(table_key).batches
    waiting = Manifest.create(table_key, "intake", [Hint("items/b.json")])
    stale = replace(landed.batch, rows=(), adds=(), manifests=(waiting.id,)).seal()
    store.objects.delete(store.bucket, [store.key("batches", table_key, f"{stale.n:020d}.json")])
    assert batches.decide(stale) == stale
    store.inbox.put([waiting])
    again = lake.lake.delta.add_files(stale.location, batches.uri(stale.n), verify_files=True)
    assert again.digest == landed.batch.digest != stale.digest

    with pytest.raises(ConfigurationError, match="carries digest"):
        record(lake.lake.table(table_key), stale, again, "stale", print, begun=0.0)

    assert [manifest.id for manifest in store.inbox.waiting_manifests(table_key)] == [waiting.id]
    assert kit.ledger(lake, "items") == before
