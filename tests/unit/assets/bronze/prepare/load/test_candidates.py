"""Limits of a batch: the bytes that it loads, and the bytes of data files that it writes again."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.assets.bronze.prepare.load import candidates as loadable
from tidegate.assets.bronze.prepare.load.candidates import bounded
from tidegate.assets.bronze.prepare.load.replaced_rows import Replacing, _DataFile
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, Dataset, Plan, TakenHint


def candidate(key: str, size: int) -> Candidate:
    return Candidate(key, S3Found("etag", size, 0), TakenHint(Hint(key), "manifest"))


def test_a_batch_loads_so_many_bytes_and_puts_the_rest_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loadable, "BATCH_BYTES", 100)
    files = [candidate("a", 60), candidate("b", 30), candidate("c", 20), candidate("d", 5)]
    prepared = PreparedBatch()
    assert [taken.key for taken in bounded(files, prepared)] == ["a", "b"]
    assert [hint.key for hint in prepared.deferred] == ["c", "d"]
    assert [taken.key for taken in bounded([candidate("large", 1000)], PreparedBatch())] == ["large"]


def test_a_dataset_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of no dataset, such as those of a rebuild, are put off to leave room for it."""
    monkeypatch.setattr(loadable, "BATCH_BYTES", 100)
    files = [candidate("a", 60), candidate("b", 60), candidate("other", 60)]
    signal = candidate("_SUCCESS", 0)
    plan = Plan(files, datasets=[Dataset(signal.taken, (), signal.found, frozenset("ab"), 2)])
    prepared = PreparedBatch(plan)
    assert [taken.key for taken in bounded(files, prepared)] == ["a", "b"]
    assert [hint.key for hint in prepared.deferred] == ["other"]


def test_a_batch_writes_so_many_bytes_of_data_files_again_and_puts_the_rest_off() -> None:
    nothing: Any = None
    replacing = Replacing(nothing, nothing)
    replacing._files = [
        _DataFile("large", 1000, frozenset({"a", "b"})),
        _DataFile("small", 1, frozenset({"b"})),
        _DataFile("other", 1000, frozenset({"c", "d"})),
    ]
    files = [candidate(key, 1) for key in "abcde"]
    assert replacing._too_much(files, 1001) == {"c", "d"}
    assert replacing._too_much(files, 1) == {"b", "c", "d"}, "never all, or nothing would ever come back"
