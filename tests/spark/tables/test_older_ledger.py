"""A ledger of the version before `cause`, `event_type` and other columns is read, and gets these columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.lakes.seams import dying_at, seams_watched
from tidegate.platform.bronze import record
from tidegate.platform.core.bronze.ledger import COLUMNS, LedgerRow
from tidegate.platform.lake import ledger
from tidegate.platform.lake.sql_names import SqlNames
from tidegate.platform.testing import TestLake

ORDERS = {"name": "orders", "prefix": "orders/"}
SALES = {"name": "sales", "prefix": "sales/", "mode": "load", "format": "csv", "columns": {"id": "bigint"}}
NEW = ("cause", "bad_rows_folder", "event_type", "removed_rows", "milliseconds")


@contextmanager
def _older_version() -> Iterator[None]:
    """Write batches and ledgers in the block as by the older version."""
    written = LedgerRow.to_dict

    def to_dict(row: LedgerRow) -> dict[str, Any]:
        body = written(row)
        if folder := body.get("bad_rows_folder"):
            body["reason"] += f"; see {folder}"
        return {name: value for name, value in body.items() if name not in NEW}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LedgerRow, "to_dict", to_dict)
        patch.setattr(ledger, "_STATE", [name for name in ledger._STATE if name not in NEW])
        patch.setattr(record, "Effort", lambda milliseconds: SimpleNamespace())
        patch.setattr(ledger, "COLUMNS", {name: kind for name, kind in COLUMNS.items() if name not in NEW})
        yield


def test_an_older_ledger_and_batch_are_read_and_the_next_batches_follow(
    tidegate_lake: Callable[..., TestLake], kit: Any
) -> None:
    lake = tidegate_lake([ORDERS, SALES])

    def quarantined() -> set[tuple[str, str]]:
        SqlNames(lake.lake).name_tables()
        found = kit.query(lake, "SELECT key, raw FROM lake.quarantine WHERE kind = 'row'")
        assert len(found) == len(set(found)), "a row is shown twice"
        return {(row["key"], row["raw"]) for row in found}

    def facts() -> dict[str, tuple[str | None, bool]]:
        return {
            row["key"]: (row["cause"], bool(row["bad_rows_folder"]))
            for name in ("orders", "sales")
            for row in kit.query(lake, f"SELECT * FROM ledger.{name} WHERE kind = 'row' ORDER BY n, position")
        }

    with _older_version():
        lake.put("orders/a.parquet", kit.parquet([{"id": 1}]))
        lake.put("sales/a.csv", "id\n1\none\n")
        kit.run(lake, "orders")
        kit.run(lake, "sales")
        lake.put("orders/a.parquet", kit.parquet([{"id": 2}]))
        kit.run(lake, "orders")
        lake.put("sales/b.csv", "id\n2\ntwo\n")
        with seams_watched(), dying_at("decide"):
            kit.run(lake, "sales")
    assert quarantined() == {("sales/a.csv", "one")}
    assert not set(NEW) & set(kit.ledger(lake, "sales")[0].asDict())

    (older,) = kit.run(lake, "sales", listing=False)
    assert (older.found, older.landed.outcome) == (True, "committed")
    assert older.landed.digest == older.batch.digest
    assert "; see s3a://" in older.batch.rows[0].reason
    assert quarantined() == {("sales/a.csv", "one"), ("sales/b.csv", "two")}

    lake.put("sales/c.csv", "id\n3\nthree\n")
    (newer,) = kit.run(lake, "sales")
    assert "s3a://" not in newer.batch.rows[0].reason
    assert quarantined() == {("sales/a.csv", "one"), ("sales/b.csv", "two"), ("sales/c.csv", "three")}
    assert kit.bronze(lake, "sales", "id") == [(1,), (2,), (3,)]
    timed = kit.query(lake, "SELECT n FROM ledger.sales WHERE kind = 'header' AND milliseconds > 0 ORDER BY n")
    assert [row["n"] for row in timed] == [older.batch.n, newer.batch.n]

    sales = lake.lake.table(lake.key("sales")).ledger
    held = sales.quarantined_objects(sales.clock().version)
    assert [(found.key, found.reason_and_folder.count("; see s3://")) for found in held] == [
        ("sales/a.csv", 1), ("sales/b.csv", 1), ("sales/c.csv", 1),
    ]  # fmt: skip

    # The reason of the older version keeps the key in quarantine, and the next row has its cause.
    lake.put("orders/a.parquet", kit.parquet([{"id": 3}]))
    lake.intake()
    (again,) = kit.run(lake, "orders", listing=False)
    assert again.batch.counts()["quarantined"] == 1
    assert not again.batch.adds
    assert kit.bronze(lake, "orders", "id") == []
    assert facts() == {
        "orders/a.parquet": ("overwritten", False),
        "sales/a.csv": (None, False),
        "sales/b.csv": (None, True),
        "sales/c.csv": (None, True),
    }
    orders = lake.lake.table(lake.key("orders")).ledger
    history = orders.history(orders.clock().version, "orders/a.parquet")
    found = [(decision.row.status, decision.row.cause) for decision in history if decision.row.status != "duplicate"]
    assert found == [("committed", None), ("quarantined", "overwritten"), ("quarantined", "overwritten")]
