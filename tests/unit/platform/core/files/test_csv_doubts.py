"""The times that `tidegate infer` sees are those that the load takes, and the page lists."""

from __future__ import annotations

import pytest

from tests.support.tracked import ROOT
from tidegate.platform.core.files.csv_doubts import type_of

TEXT = (ROOT / "tests" / "unit" / "data" / "times.tsv").read_text()
ROWS = [line.split("\t") for line in TEXT.removesuffix("\n").split("\n")]
#: What only a calendar shows: the type that is inferred is one of spelling.
OF_A_CALENDAR = ("2026-10-25", "2026-03-29", "2026-02-30", "0000-00-00", "03:04:60", "+19:00")


@pytest.mark.parametrize(("writer", "text", "instant", "why"), ROWS)
def test_a_time_of_the_page_is_a_time_for_infer(writer: str, text: str, instant: str, why: str) -> None:
    page = (ROOT / "docs" / "reference" / "times.md").read_text()
    assert f"| {writer} | `{text}` | {'no' if instant == '-' else 'yes'} | {why} |" in page
    if not any(part in text for part in OF_A_CALENDAR):
        assert (type_of([text]) in ("timestamp", "date")) == (instant != "-")
