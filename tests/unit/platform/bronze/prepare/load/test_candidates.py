"""Limit of a batch: the bytes of data files that it writes again."""

from __future__ import annotations

from typing import Any

from tidegate.platform.bronze.prepare.load.replaced_rows import Replacing, _DataFile
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, PlannedHint


def candidate(key: str, size: int) -> Candidate:
    return Candidate(key, S3Found("etag", size, 0), PlannedHint(Hint(key), "manifest"))


def test_a_batch_writes_so_many_bytes_of_data_files_again_and_puts_the_rest_off() -> None:
    nothing: Any = None
    replacing = Replacing(nothing, "landing", nothing)
    replacing._files = [
        _DataFile("large", 1000, frozenset({"a", "b"})),
        _DataFile("small", 1, frozenset({"b"})),
        _DataFile("other", 1000, frozenset({"c", "d"})),
    ]
    files = [candidate(key, 1) for key in "abcde"]
    assert replacing._oversized_files(files, 1001) == {"c", "d"}
    assert replacing._oversized_files(files, 1) == {"b", "c", "d"}, "never all, or nothing would ever come back"
