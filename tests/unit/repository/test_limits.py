"""The page of limits has the sentences of the tests that assert them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import limits
from tests.support.tracked import ROOT

PAGE = ROOT / "docs" / "reference" / "limits.md"


def test_the_page_of_limits_is_written_from_the_tests() -> None:
    assert PAGE.read_text(encoding="utf-8") == limits.page(), "run: make limits"


def test_each_part_has_limits_and_no_sentence_comes_twice() -> None:
    found = list(limits.limits())
    assert {limit.part for limit in found} == set(limits.PARTS)
    assert len({limit.sentence for limit in found}) == len(found)


@pytest.mark.parametrize("mark", ['"Files"', '"Nowhere", "It is refused."', '"Files", "no sentence"', '"Files", TEXT'])
def test_a_mark_without_a_part_and_a_sentence_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    path = tmp_path / "tests" / "test_a.py"
    path.parent.mkdir()
    path.write_text(f"@pytest.mark.limit({mark})\ndef test_a(): ...\n")
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    monkeypatch.setattr(limits, "tracked", lambda: [path])
    with pytest.raises(ValueError, match=r"tests/test_a\.py::test_a: `limit` takes a part of the page"):
        list(limits.limits())
