"""The data files that a batch writes again: their bytes are limited, and one without rows that stay is none of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.bronze.prepare.load.replaced_rows import Replacing, _DataFile
from tidegate.platform.core.bronze.batch import Remove
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, PlannedHint
from tidegate.platform.lake.spark.results import LiveEntry


def candidate(key: str, size: int) -> Candidate:
    return Candidate(key, S3Found("etag", size, 0), PlannedHint(Hint(key), "manifest"))


def test_a_batch_writes_so_many_bytes_of_data_files_again_and_puts_the_rest_off() -> None:
    nothing: Any = None
    replacing = Replacing(nothing, "landing", nothing)
    replacing._files = [
        _DataFile("large", 1000, {"a": 1, "b": 1}),
        _DataFile("small", 1, {"b": 1}),
        _DataFile("other", 1000, {"c": 1, "d": 1}),
    ]
    files = [candidate(key, 1) for key in "abcde"]
    assert replacing._oversized_files(files, 1001) == {"c", "d"}
    assert replacing._oversized_files(files, 1) == {"b", "c", "d"}, "never all, or nothing would ever come back"


@pytest.mark.parametrize("rows", [3, 4, None])
@pytest.mark.parametrize("landing", ["ab", "a", ""])
def test_only_data_files_with_rows_that_stay_are_read_again(
    monkeypatch: pytest.MonkeyPatch, landing: str, rows: int | None
) -> None:
    nothing: Any = None
    prepared: Any = SimpleNamespace(rows=[], adds=[], removes=[], waiting=set("ab") - set(landing), base="base")
    work: Any = SimpleNamespace(
        plan=SimpleNamespace(candidates=[], leaving={key: candidate(key, 1) for key in "ab"}),
        brought={"a": frozenset({1}), "b": frozenset({2})},
        states={},
    )
    replacing = Replacing(nothing, "landing", work)
    monkeypatch.setattr(replacing, "_record", lambda *_: None)
    monkeypatch.setattr(replacing, "_stage_remaining_rows", lambda files, *_: [file.path for file in files])
    replacing._files = [_DataFile("both", 9, {"a": 2, "b": 1}), _DataFile("other", 9, {"b": 1})]
    replacing._entries = {"both": LiveEntry(Remove("both"), rows), "other": LiveEntry(Remove("other"), 1)}
    replacing.finish(prepared)
    assert prepared.removes == [Remove("both"), Remove("other")][: len(landing)]
    assert prepared.adds == ([] if not landing or (landing, rows) == ("ab", 3) else ["both"])
