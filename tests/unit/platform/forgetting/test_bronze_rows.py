"""What deletion vectors hide leaves the files of both tables, whatever the table is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tidegate.platform.forgetting import bronze_rows
from tidegate.platform.forgetting.silver_rows import purge_silver

BRONZE, SILVER = "s3a://lake/root/bronze/landing.orders", "s3a://lake/root/silver/orders"
SPEC: Any = SimpleNamespace(name="orders", personal=SimpleNamespace(kind="person", subject=("mail",)))


class Busy(PySparkException):
    """Another commit came first."""

    def getCondition(self) -> str:  # noqa: N802
        return "DELTA_CONCURRENT_WRITE"


class Tables:
    """Stands for Delta, and notes which tables are purged. Another commit comes before the first purge."""

    session = None

    def __init__(self) -> None:
        self.purged: list[str] = []
        self.upkeep = self

    def table_state(self, location: str) -> Any:
        return SimpleNamespace(exists=True, schema=SimpleNamespace(fields=("mail",)), properties={})

    def purge(self, location: str) -> None:
        self.purged.append(location)
        if len(self.purged) == 1:
            raise Busy("")


def test_both_tables_are_purged_and_again_if_another_commit_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.platform.lake.spark.commit_retry.time.sleep", lambda _: None)
    monkeypatch.setattr(bronze_rows, "set_properties", lambda *_: None)
    tables: Any = Tables()
    birth: Any = SimpleNamespace(location=BRONZE)
    bronze_rows._end(SPEC, tables, birth, lambda _: None)
    store: Any = SimpleNamespace(uri=lambda *parts: "/".join(("s3a://lake/root", *parts)))
    purge_silver(tables, store, SPEC)
    assert tables.purged == [BRONZE, BRONZE, SILVER]
