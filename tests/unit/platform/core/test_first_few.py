from __future__ import annotations

from tidegate.platform.core.first_few import first_few


def test_texts_that_are_left_out_are_counted() -> None:
    assert first_few(["a", "b"], 2) == ["a", "b"]
    assert first_few(["a", "b", "c"], 2) == ["a", "b", "and 1 more"]
    assert first_few(["a", "b"], 2, 1002) == ["a", "b", "and 1,000 more"]
    assert first_few([], 2) == []
