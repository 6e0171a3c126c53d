"""Truncates of a history end rows of every key."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.assets.silver.truncate import record_truncates
from tidegate.platform.core.silver.merge_mode import MergeMode


def _recorded(recorded: str, found: list[str]) -> tuple[str, ...]:
    """Call `record_truncates` for a rebuild from a batch. There is no lake, so nothing can be written."""
    properties = {"tidegate.silver_truncates": recorded, "tidegate.silver_truncates_before": "[]"}
    table = SimpleNamespace(spec=SimpleNamespace(name="items"))
    work: Any = SimpleNamespace(silver=SimpleNamespace(properties=properties), table=table)
    lake: Any = None
    return record_truncates(lake, work, MergeMode.SINCE, found)


@pytest.mark.parametrize(("recorded", "found"), [("[]", ['{"o1":5}']), ('["{}"]', [])], ids=["new", "recorded"])
def test_a_history_with_truncates_is_not_rebuilt_from_a_batch(recorded: str, found: list[str]) -> None:
    with pytest.raises(
        ValueError, match=r"silver\.items: a truncate ends rows of every key, so a history .* as a whole"
    ):
        _recorded(recorded, found)
    assert _recorded("[]", []) == ()
