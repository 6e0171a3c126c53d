"""The reads of a report on storage: read once, rolled up, and left out if a ledger is missing."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tidegate.platform.inventory.costs import reads
from tidegate.platform.inventory.costs.reads import Reads, reads_of
from tidegate.platform.inventory.costs.recorded_tables import RecordedTables

NOW = datetime(2026, 11, 16, tzinfo=UTC)
FILES = Counter({("a", "x/"): 2, ("a", "y/"): 3, ("b", "x/"): 5})


def test_reads_are_rolled_up_by_the_dimensions_that_ledgers_know() -> None:
    found = Reads(FILES)
    assert found.reads_by(["bucket"]) == {("a",): 5, ("b",): 5}
    assert found.reads_by(["prefix"]) == {("x/",): 7, ("y/",): 3}
    assert found.reads_by(["prefix", "bucket"]) == {("x/", "a"): 2, ("y/", "a"): 3, ("x/", "b"): 5}
    assert found.reads_by(["bucket", "age"]) is None


@pytest.mark.parametrize(
    ("unread", "failed", "why"),
    [
        ({"landing.x": "no birth record"}, {}, "no birth record"),
        ({}, {"landing.x": PySparkException("FILE_NOT_EXIST: part-0\nat org.apache")}, "FILE_NOT_EXIST: part-0"),
    ],
)
def test_reads_are_left_out_if_one_ledger_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, unread: Any, failed: Any, why: str
) -> None:
    lake: Any = SimpleNamespace(delta=SimpleNamespace(check_session_alive=lambda: None))
    monkeypatch.setattr(reads, "recorded_tables", lambda lake: RecordedTables({}, {}, unread))
    monkeypatch.setattr(reads, "file_reads", lambda *asked: (FILES, failed))
    found = reads_of(lake, NOW, 1)
    assert found.unknown == f"the reads of 30 days are not known, because landing.x cannot be read: {why}"
    assert found.reads_by(["bucket"]) is None
    monkeypatch.setattr(reads, "recorded_tables", lambda lake: RecordedTables({}, {}, {}))
    monkeypatch.setattr(reads, "file_reads", lambda *asked: (FILES, {}))
    assert reads_of(lake, NOW, 1) == Reads(FILES)
