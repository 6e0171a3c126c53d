"""Silver under attack: after every interleaving, silver has the newest row of each key.

A lake and its first merge cost more than one attack, so some tests try several attacks of docs/internals/faults.md: the
test of B3 also tries B2, that of B6 also B7, that of B1 also F25, that of B5 also L2, and
test_silver_goes_no_further_than_the_ledger also B4.
"""

from __future__ import annotations

import os
import random
import re
import string
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import BooleanType

from tests.support.lakes.seams import dying_at, dying_in, seams_watched
from tests.support.log_store.delta_log import DeltaLog
from tidegate.platform.lake.lake_root.batches import Batches
from tidegate.platform.lake.spark import commit_retry
from tidegate.platform.lake.spark.results import Merging
from tidegate.platform.operations.silver_rebuild import rebuild_silver
from tidegate.platform.silver import changes as silver_changes
from tidegate.platform.silver import merge as silver_merge
from tidegate.platform.silver.audit.comparison import compare
from tidegate.platform.silver.audit.key_history import key_history
from tidegate.platform.silver.merge import MergeResult
from tidegate.platform.silver.pending_merge import PendingMerge, pending_merge
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]
TXN_CONFS = ("spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion")
SILVER = {"keys": ["id"], "order": "at", "delete_when": "gone", "every": 10}
LOADED = {
    "name": "items",
    "prefix": "items/",
    "format": "json",
    "columns": {"id": "int", "at": "int", "v": "string", "gone": "boolean"},
    "silver": SILVER,
}
REGISTERED = {"name": "orders", "prefix": "orders/", "silver": {"keys": ["id"], "order": "at", "every": 10}}


def _row(id: int, at: int, v: str = "", gone: bool = False) -> dict[str, Any]:
    return {"id": id, "at": at, "v": v, "gone": gone}


def _land(lake: TestLake, kit: Any, name: str, *rows: dict[str, Any]) -> None:
    """Land an object in the loaded table, as a batch of its own."""
    lake.put(f"items/{name}.json", kit.lines(*rows))
    kit.run(lake, "items")


def _register(lake: TestLake, kit: Any, name: str, *rows: tuple[int, int]) -> None:
    """Land an object in the registered table, as a batch of its own."""
    lake.put(f"orders/{name}.parquet", kit.parquet([{"id": id, "at": at} for id, at in rows]))
    kit.run(lake, "orders")


def _work(lake: TestLake, table: str) -> PendingMerge:
    found = pending_merge(lake.lake, lake.spec(table))
    assert found is not None
    return found


def _silver_state(lake: TestLake, table: str) -> Any:
    return lake.lake.delta.table_state(lake.lake.store.uri("silver", table))


def test_b1_late_older_row_after_delete_does_not_resurrect(tidegate_lake: MakeLake, kit: Any) -> None:
    """Also F25: a range of batches that is merged a second time changes nothing."""
    lake = tidegate_lake([LOADED])
    _land(lake, kit, "1", _row(1, 10, "first"), _row(2, 10, "stays"))
    first = _work(lake, "items")
    with dying_in(silver_merge, "silver-gather"):
        kit.merge(lake, "items")
    session = lake.lake.delta.session
    session.sql("DROP VIEW silver.items")
    kit.merge(lake, "items")
    assert session.table("silver.items").columns == ["id", "at", "v", "gone"], "the first merge that ends names it"
    version = _silver_state(lake, "items").version
    # A run that died after its commit, or a second process of it, merges the range again that it had read.
    silver_merge._merge(lake.lake, first, lambda _: None)
    assert _silver_state(lake, "items").version == version

    _land(lake, kit, "2", _row(1, 30, gone=True), _row(2, 11, "stays too"))
    kit.merge(lake, "items")
    # After a later merge, the old range must not undo the new one.
    silver_merge._merge(lake.lake, first, lambda _: None)
    assert kit.silver(lake, "items", "id, v") == [(2, "stays too")]
    assert _work_mark(lake) == 2

    _land(lake, kit, "3", _row(1, 20, "late"), _row(2, 5, "late too"))
    kit.merge(lake, "items")
    assert kit.silver(lake, "items", "id, v") == [(2, "stays too")]

    _land(lake, kit, "4", {**_row(1, 40, "born again"), "more": "a column that comes later"})
    kit.merge(lake, "items")
    found = session.sql("SELECT more FROM silver.items WHERE id = 1").collect()
    assert found[0]["more"] == "a column that comes later", "the view has the column although it was not created again"

    # A column that a user adds to silver keeps its value when a newer row of the key comes, and the view shows it.
    table = lake.lake.store.uri("silver", "items")
    kit.query(lake, "ALTER TABLE {t} ADD COLUMN note STRING", t=table)
    kit.query(lake, "UPDATE {t} SET note = 'mine' WHERE id = 1", t=table)
    _land(lake, kit, "5", _row(1, 41, "born again"))
    kit.merge(lake, "items")
    (row,) = session.sql("SELECT at, note FROM silver.items WHERE id = 1").collect()
    assert (row["at"], row["note"]) == (41, "mine")
    assert [tuple(row) for row in lake.sql("SELECT id, v FROM silver.items ORDER BY id")] == [
        (1, "born again"),
        (2, "stays too"),
    ]


def test_b3_a_range_that_cannot_be_had_is_merged_in_full_and_says_so(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After B2: a file that is added and removed within the range does not block silver."""
    lake = tidegate_lake([REGISTERED])
    _register(lake, kit, "a", (1, 1))
    kit.merge(lake, "orders")
    _register(lake, kit, "b", (2, 1))
    lake.delete("orders/b.parquet")
    kit.run(lake, "orders")
    _register(lake, kit, "c", (3, 1))

    merged = kit.merge(lake, "orders")

    assert (merged.batches, merged.why_full) == (3, None)
    assert kit.silver(lake, "orders", "id, at") == [(1, 1), (3, 1)]
    # The batch that removed the file may come after the batches of one merge.
    _register(lake, kit, "x", (8, 1))
    lake.delete("orders/x.parquet")
    kit.run(lake, "orders")
    with monkeypatch.context() as patched:
        patched.setattr(silver_changes, "_MAX_BATCHES", 1)
        merged = kit.merge(lake, "orders")
    assert (merged.n, merged.batches, merged.why_full) == (6, 2, None)

    _register(lake, kit, "d", (1, 2), (2, 2))
    # The files of the batch are rewritten before silver reads them.
    kit.query(lake, "OPTIMIZE {t}", t=kit.location(lake, "orders"))

    metadata = kit.metadata(lake.materialize("silver/orders"))

    assert "no longer in bronze" in metadata["full_merge"]
    assert metadata["batch"] == 7
    assert kit.silver(lake, "orders", "id, at") == [(1, 2), (2, 2), (3, 1)]
    assert kit.merge(lake, "orders") is None


def _work_mark(lake: TestLake) -> int | None:
    """Return silver's mark for the present bronze table."""
    table = lake.lake.table(lake.key("items"))
    assert table.birth is not None
    bronze = lake.lake.delta.table_state(table.birth.location)
    app_id = f"tidegate:{lake.lake.id}:silver:items:{bronze.table_id}:{table.birth.generation}"
    return lake.lake.delta.table_state(lake.lake.store.uri("silver", "items"), app_id).txn


def test_silver_goes_no_further_than_the_ledger(tidegate_lake: MakeLake, kit: Any) -> None:
    """A run dies between its commit and its record: bronze has rows that the ledger does not know yet.

    Then B4: a new generation of bronze is merged in full.
    """
    lake = tidegate_lake([LOADED])
    _land(lake, kit, "1", _row(1, 1, "first"))
    lake.put("items/2.json", kit.lines(_row(2, 1, "second")))
    with seams_watched(), dying_at("commit"):
        kit.run(lake, "items")
    assert len(kit.bronze(lake, "items", "id")) == 2
    merged = kit.merge(lake, "items")
    assert merged is not None
    assert merged.n == 1
    assert kit.silver(lake, "items", "v") == [("first",)]
    assert kit.merge(lake, "items") is None
    kit.run(lake, "items")
    merged = kit.merge(lake, "items")
    assert merged is not None
    assert merged.n == 2
    assert kit.silver(lake, "items", "v") == [("first",), ("second",)]
    assert _work_mark(lake) == 2

    # The table and all its records are deleted. Its new batches begin below the mark that silver had.
    store, key = lake.lake.store, lake.key("items")
    for location in (kit.location(lake, "items"), lake.lake.table(key).ledger.location):
        DeltaLog(lake.clients, location).forget()
    for part in ("bronze", "ledger", "batches"):
        store.objects.delete(
            store.bucket, [found.key for found in store.objects.list_under(store.bucket, store.key(part, key))]
        )
    store.objects.delete(store.bucket, [store.key("tables", f"{key}.json")])
    lake.put("items/1.json", kit.lines(_row(1, 2, "new")))
    (done,) = kit.run(lake, "items")
    assert done.batch.n == 1

    merged = kit.merge(lake, "items")

    assert merged.n == 1
    assert "nothing of this bronze table" in merged.why_full
    assert kit.silver(lake, "items", "id, v") == [(1, "new"), (2, "second")]


def test_b5_the_txn_of_a_merge_does_not_leak_into_later_writes(tidegate_lake: MakeLake, kit: Any) -> None:
    """Also L2: nor does the txn of any other commit. A session that keeps a txn drops each write after the first."""
    lake = tidegate_lake([LOADED])
    shared = lake.lake.delta.session
    lake.put("items/1.json", kit.lines(_row(1, 1)))
    lake.materialize("bronze", "items")
    lake.materialize("silver/items")
    runs_session = lake.resource.open().delta.session
    assert runs_session is shared, "the run had a session of its own, which is gone: the test proves nothing"
    for session in (runs_session, lake.lake.delta.session):
        assert [session.conf.get(name, None) for name in TXN_CONFS] == [None, None]
    location = lake.lake.store.uri("silver", "items")
    before = _silver_state(lake, "items").version
    for _ in range(2):
        runs_session.sql(f"UPDATE delta.`{location}` SET v = concat(v, '!')").collect()
    assert _silver_state(lake, "items").version == before + 2
    assert kit.silver(lake, "items", "v") == [("!!",)]


def test_b6_duplicates_within_one_range_become_the_newest_row(tidegate_lake: MakeLake, kit: Any) -> None:
    """Then B7: a merge that changes nothing records its mark."""
    lake = tidegate_lake([LOADED])
    _land(lake, kit, "1", _row(1, 1, "older"), _row(1, 2, "newest"), _row(1, 2, "newest"), _row(2, 1, "x"))
    _land(lake, kit, "2", _row(1, 2, "same order, later batch"), _row(2, 0, "older"))
    # The same object again: another etag, the same rows and one that comes later in the file.
    _land(lake, kit, "2", _row(1, 2, "same order, later batch"), _row(3, 1, "upper"), _row(3, 1, "lower"))

    merged = kit.merge(lake, "items")

    assert merged.batches == 3
    assert kit.silver(lake, "items", "id, v") == [(1, "same order, later batch"), (2, "x"), (3, "lower")]

    # A new version of bronze that is not a batch: nothing is pending.
    kit.query(lake, "ALTER TABLE {t} SET TBLPROPERTIES ('note' = 'x')", t=kit.location(lake, "items"))
    assert pending_merge(lake.lake, lake.spec("items")) is None
    # A batch without rows is pending once.
    kit.send(lake, kit.event(lake, "items/1.json"))
    lake.intake()
    kit.run(lake, "items", listing=False)
    assert _work(lake, "items").n == 4
    merged = kit.merge(lake, "items")
    assert (merged.n, merged.inserted, merged.updated) == (4, 0, 0)
    assert pending_merge(lake.lake, lake.spec("items")) is None


def test_a_first_merge_knows_the_batch_of_every_file_and_reads_no_batch_objects(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([REGISTERED])
    files = {
        "ü 100%+k=1.parquet": {"id": 1, "at": 1, "v": "first"},
        "ß '+%2F.parquet": {"id": 4, "at": 1, "v": "odd"},
        "gone.parquet": {"id": 3, "at": 1, "v": "gone"},
        "b.parquet": {"ID": 1, "at": 1, "v": "a copy enters for it"},  # a spelling that differs from the table's
    }
    for name, row in files.items():
        lake.put(f"orders/{name}", kit.parquet([row]))
        kit.run(lake, "orders")
    lake.put("orders/a.parquet", kit.parquet([{"id": 2, "at": 1, "v": "x"}]))
    lake.delete("orders/gone.parquet")
    kit.run(lake, "orders")
    with monkeypatch.context() as patched:
        patched.setattr(silver_changes, "_MAX_FIRST_BATCHES", 1)
        patched.setattr(Batches, "read", lambda self, n: pytest.fail(f"batch {n} was read"))
        merged = kit.merge(lake, "orders")
    assert (merged.batches, merged.volume["files"], merged.volume["rows"]) == (5, 5, 5)
    assert "nothing of this bronze table" in merged.why_full
    assert kit.silver(lake, "orders", "id, v, _changed_batch") == [
        (1, "a copy enters for it", 4),
        (2, "x", 5),
        (4, "odd", 2),
    ]

    # More batches than one merge takes need several merges, each with its mark.
    for name, v in (("c", "earlier"), ("d", "later")):
        lake.put(f"orders/{name}.parquet", kit.parquet([{"id": 3, "at": 1, "v": v}]))
        kit.run(lake, "orders")
    monkeypatch.setattr(silver_changes, "_MAX_BATCHES", 1)
    before = _silver_state(lake, "orders").version
    merged = kit.merge(lake, "orders")
    assert _silver_state(lake, "orders").version == before + 2
    assert (merged.batches, merged.why_full, merged.inserted) == (2, None, 1)
    assert kit.silver(lake, "orders", "id, v, _changed_batch")[2] == (3, "later", 7)


@pytest.fixture
def merge_next_to(kit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[MergeResult, int]]:
    """Return merges `items` while a rival commits, by the keyed merge or by Delta's MERGE.

    Returns the result and the number of attempts. The merge is held while it reads its source, so its snapshots are
    older than the rival's commit.
    """
    merging, source = silver_merge.build_merge, silver_merge.gather_changes  # type: ignore[attr-defined]

    def merge_while(lake: TestLake, rival: Callable[[], object], *, by_delta: bool = False) -> tuple[MergeResult, int]:
        reading, resume = tmp_path / uuid.uuid4().hex, tmp_path / uuid.uuid4().hex
        attempts: list[str] = []

        def held(*given: Any, **options: Any) -> Merging:
            attempts.append("")
            found = merging(*given, **options)
            assert found.newer, "only Delta's MERGE can do this merge: the test proves nothing"
            if by_delta:
                found = replace(found, newer=None)
            if len(attempts) > 1:
                return found
            return replace(found, rows=_held(found.rows), statement=_held(found.statement))

        def with_hold(delta: Any, work: PendingMerge) -> Any:
            delta.session.udf.register("hold", _hold(reading, resume), BooleanType())
            return source(delta, work)

        monkeypatch.setattr(silver_merge, "build_merge", held)
        monkeypatch.setattr(silver_merge, "gather_changes", with_hold)
        with ThreadPoolExecutor(1) as pool:
            merged = pool.submit(kit.merge, lake, "items")
            _wait_for(reading)
            try:
                rival()
            finally:
                resume.touch()
            return merged.result(timeout=120), len(attempts)

    return merge_while


def test_f24_a_merge_that_loses_to_another_commit_starts_again_from_a_fresh_look(
    tidegate_lake: MakeLake, kit: Any, merge_next_to: Callable[..., tuple[MergeResult, int]]
) -> None:
    lake = tidegate_lake([LOADED])
    for n, v in ((1, "a"), (3, "b")):
        _land(lake, kit, str(n), _row(n, 1, v))
        kit.merge(lake, "items")
    insert = "INSERT INTO {t} (id, at, v, _deleted, _changed_batch) VALUES (4, 0, 'foreign', false, 0)"
    rivals = [
        ("OPTIMIZE {t}", False, (_row(1, 2, "?"), _row(2, 1, "c"))),
        ("OPTIMIZE {t}", True, (_row(1, 3, "A"),)),
        (insert, True, (_row(4, 1, "d"),)),
    ]
    for n, (rival, by_delta, rows) in enumerate(rivals, start=3):
        _land(lake, kit, f"9{n}", *rows)
        merged, attempts = merge_next_to(
            lake,
            lambda rival=rival: kit.query(lake, rival, t=lake.lake.store.uri("silver", "items")),
            by_delta=by_delta,
        )
        assert attempts == 2, "the merge did not lose: the test proves nothing"
        assert merged.n == n
    assert kit.silver(lake, "items", "id, v") == [(1, "A"), (2, "c"), (3, "b"), (4, "d")]


def test_f24_bronze_is_appended_to_compacted_and_vacuumed_during_a_merge(
    tidegate_lake: MakeLake, kit: Any, merge_next_to: Callable[..., tuple[MergeResult, int]]
) -> None:
    """Commits of another table do not conflict: the merge ends with the batches that it read, the next has the rest."""
    lake = tidegate_lake([LOADED])
    _land(lake, kit, "1", _row(1, 1, "a"), _row(2, 1, "b"))
    _land(lake, kit, "2", _row(2, 2, "B"))

    def rival() -> None:
        _land(lake, kit, "3", _row(1, 2, "A"), _row(3, 1, "c"))
        for statement in ("OPTIMIZE {t}", "VACUUM {t} LITE"):
            kit.query(lake, statement, t=kit.location(lake, "items"))

    merged, attempts = merge_next_to(lake, rival)

    assert kit.state(lake, "items").files == 1, "bronze was not compacted: the test proves nothing"
    assert (merged.n, attempts) == (2, 1)
    assert kit.silver(lake, "items", "id, v") == [(1, "a"), (2, "B")]
    assert kit.merge(lake, "items").n == 3
    assert kit.silver(lake, "items", "id, v") == [(1, "A"), (2, "B"), (3, "c")]


def _held(query: str) -> str:
    return re.sub(r"FROM changes_\w+", r"\g<0> WHERE hold(_tidegate_n)", query)


def _hold(reading: Path, resume: Path) -> Callable[[int], bool]:
    here, there = str(reading), str(resume)

    def hold(_: int) -> bool:
        open(here, "a").close()
        end = time.monotonic() + 60
        while not os.path.exists(there) and time.monotonic() < end:
            time.sleep(0.02)
        return True

    return hold


def _wait_for(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, "the merge did not read its source"
        time.sleep(0.02)


def test_f24_a_merge_that_always_loses_gives_up_after_a_bounded_number_of_attempts(
    tidegate_lake: MakeLake, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([LOADED])
    _land(lake, kit, "1", _row(1, 1))
    lost: list[int] = []

    def lose(*_: Any) -> Any:
        lost.append(1)
        raise PySparkException("somebody was faster", errorClass="DELTA_CONCURRENT_DELETE_READ")

    monkeypatch.setattr(silver_merge, "_merge", lose)
    monkeypatch.setattr(commit_retry.time, "sleep", lambda _: None)  # type: ignore[attr-defined]
    with pytest.raises(PySparkException, match="somebody was faster"):
        kit.merge(lake, "items")
    assert len(lost) == commit_retry.MAX_ATTEMPTS


_TIES = {"keys": ["id"], "order": "at", "every": 10}
#: Bytes of a part of a file. Each line of the file has about 1,000.
_PART_BYTES = 64 << 10


def _file_of_two_parts(kit: Any) -> str:
    """Return a file of two parts. Spark reads the data file of the second one first, because it is larger."""
    chance = random.Random(1)
    texts = ["x" * 1000 if n < 50 else "".join(chance.choices(string.ascii_letters, k=1000)) for n in range(100)]
    rows = [{"id": n, "at": 1, "v": text} for n, text in enumerate(texts, 1)]
    return str(kit.lines({"id": 0, "at": 1, "v": "first"}, *rows, {"id": 0, "at": 1, "v": "last"}))


def test_the_last_line_of_a_file_counts_although_spark_divides_it(tidegate_lake: MakeLake, kit: Any) -> None:
    columns = {"id": "int", "at": "int", "v": "string"}
    newest = {"name": "newest", "prefix": "newest/", "format": "json", "columns": columns, "silver": _TIES}
    lake = tidegate_lake([newest])
    history = kit.second(lake, "newest", "history", {**_TIES, "stored_as": "scd2"})
    dumps = kit.second(lake, "newest", "dumps", {**_TIES, "from": "snapshots"})
    conf = lake.lake.delta.session.conf
    conf.set("spark.sql.files.maxPartitionBytes", str(_PART_BYTES))
    try:
        lake.put("newest/1.json", _file_of_two_parts(kit))
        kit.run(lake, "newest")
        assert kit.state(lake, "newest").files == 2
        for table in (lake.spec("newest"), history, dumps):
            silver_merge.merge_table(lake.lake, table)
            shown = kit.query(lake, "SELECT v FROM {t} WHERE id = 0", t=lake.lake.store.uri("silver", table.name))
            assert shown == [("last",)]
        found = key_history(lake.lake, lake.spec("newest"), ["id=0"])
        assert ["last" in event.row.values for event in found.events] == [True, False]
        assert found.is_right
        compared = compare(lake.lake, history)
        assert compared is not None
        assert compared.wrong == ()
        before = kit.silver(lake, "newest", "*")
        rebuild_silver(lake.lake, "silver.newest", by="test")
        assert [row[:3] for row in kit.silver(lake, "newest", "*")] == [row[:3] for row in before]
    finally:
        conf.unset("spark.sql.files.maxPartitionBytes")
