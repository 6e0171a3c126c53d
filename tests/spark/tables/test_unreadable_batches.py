"""Nothing that is decided can fail to be read: the server reads each batch before it is decided."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tidegate.platform.bronze import decide as deciding
from tidegate.platform.bronze.prepare import read_timeouts
from tidegate.platform.core.bronze.batch import Batch
from tidegate.platform.core.bronze.ledger import COLUMNS, LedgerRow, Status
from tidegate.platform.core.errors import UnavailableError
from tidegate.platform.lake.spark import session
from tidegate.platform.testing import TestLake

NUMBERS = (0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 10**1000, 10**4000, 1.5, 1e300)
BOUNDS: tuple[Any, ...] = (*NUMBERS, True, "", "x", "ü" * 70_000, [], {})


def _fits(column: str, value: Any) -> bool:
    if COLUMNS[column] == "STRING":
        return isinstance(value, str)
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def test_a_batch_that_only_the_server_refuses_is_not_decided_and_the_good_files_arrive(
    tidegate_lake: Callable[..., TestLake], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake(
        [{"name": "loaded", "prefix": "loaded/"}, {"name": "registered", "prefix": "registered/", "mode": "register"}]
    )
    for name in ("bad", "good"):
        lake.put(f"loaded/{name}.json", kit.lines({"id": name}))
        lake.put(f"registered/{name}.parquet", kit.parquet([{"id": name}]))
    drafted = deciding._draft_batch

    def spoiled(table: Any, *rest: Any) -> Batch:
        batch = drafted(table, *rest)
        rows = [replace(row, size=2**63) if "/bad." in row.key and row.size else row for row in batch.rows]
        return replace(batch, rows=tuple(rows))

    for table in ("loaded", "registered"):
        with monkeypatch.context() as patch:
            patch.setattr(deciding, "_draft_batch", spoiled)
            (done,) = kit.run(lake, table)
        assert done.batch.n == 1
        assert kit.bronze(lake, table, "id") == [("good",)]
        fates = {key.rpartition("/")[2].split(".")[0]: fate for key, fate in kit.fate(lake, table).items()}
        assert fates["good"][0] == "committed"
        assert fates["bad"][0] == "quarantined"
        assert "column size is BIGINT, and a row has 9223372036854775808" in fates["bad"][1]
        # The row has no state of the key, so the next listing looks again.
        kit.run(lake, table)
        assert kit.bronze(lake, table, "id") == [("bad",), ("good",)]

    handle = lake.lake.table(lake.key("loaded"))
    lake.put("loaded/next.json", kit.lines({"id": "next"}))
    with monkeypatch.context() as patch:
        patch.setattr(deciding, "_draft_batch", lambda *rest: replace(drafted(*rest), after_version=2**63))
        with pytest.raises(
            AssertionError, match=r"(?s)batch 3 of .* was not decided.*after_version: .*no file is at fault"
        ):
            kit.run(lake, "loaded")
    assert handle.batches.read(3) is None
    kit.run(lake, "loaded")
    assert kit.bronze(lake, "loaded", "id") == [("bad",), ("good",), ("next",)]

    # Every field of a ledger row and every bound: the server takes exactly what the column holds.
    asked = [(column.name, value) for column in fields(LedgerRow) for value in BOUNDS]
    rows = [{"key": "k", "status": str(Status.REMOVED), name: value} for name, value in asked]
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    written = handle.batches.read(1)
    assert written is not None
    refused = lake.lake.delta.check_batch(written.to_json(), json.dumps(rows), columns)
    assert {refusal.part for refusal in refused} == {"rows"}
    places = {refusal.place for refusal in refused}
    assert [asked[place] for place in range(len(asked)) if (place in places) == _fits(*asked[place])] == []


def test_the_server_ends_what_takes_too_long_and_the_next_run_reads_it(
    tidegate_lake: Callable[..., TestLake], kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tidegate_lake([{"name": "loaded", "prefix": "loaded/"}])
    lake.put("loaded/a.json", kit.lines({"id": "a"}))
    monkeypatch.setattr(session, "_INTERRUPT_RETRY_SECONDS", 0.01)
    spark = lake.lake.delta.session
    with session.limit_call_time(spark, 0.2) as is_late, pytest.raises(PySparkException, match="OPERATION_CANCELED"):
        spark.range(1 << 50).selectExpr("sum(id)").collect()
    assert is_late()
    with monkeypatch.context() as patch:
        patch.setattr(read_timeouts, "MAX_SECONDS", 0)
        with pytest.raises(UnavailableError, match=r"read loaded/a\.json alone of"):
            kit.run(lake, "loaded")
    inbox = lake.lake.table(lake.key("loaded")).inbox
    hints = [
        hint
        for manifest in inbox.read(manifest.id for manifest in inbox.waiting_manifests())
        for hint in manifest.hints
    ]
    assert "ReadTooLongAlone" in {hint.cause.name for hint in hints}
    kit.run(lake, "loaded")
    assert kit.bronze(lake, "loaded", "id") == [("a",)]
