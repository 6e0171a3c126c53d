"""Two runs of one partition at once, as Dagster starts them by default: nothing limits them, and both are correct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.lakes.seams import Standing, seams_watched
from tidegate.platform.testing import TestLake

COLUMNS = {"id": "int", "v": "string"}


@pytest.mark.parametrize("seam", ["prepare", "commit"])
def test_two_runs_of_one_partition_at_once_with_dagster_s_own_defaults(
    tidegate_lake: Callable[..., TestLake], kit: Any, seam: str
) -> None:
    """One run waits between two steps while another one of the same partition runs from its start to its end."""
    lake = tidegate_lake([{"name": "orders", "prefix": "orders/", "format": "json", "columns": COLUMNS}])
    lake.put("orders/a.json", kit.lines({"id": 1, "v": "a"}, {"id": 2, "v": "b"}))
    lake.put("orders/b.json", kit.lines({"id": 3, "v": "c"}))
    lake.intake()
    with seams_watched():
        # `materialize` makes an instance with Dagster's defaults.
        first = Standing(seam, lambda: lake.materialize("bronze", "orders", from_inbox=True))
        first.wait_reached()
        assert lake.materialize("bronze", "orders", from_inbox=True).success
        first.resume()
        first.finished()
    assert kit.bronze(lake, "orders", "id, v") == [(1, "a"), (2, "b"), (3, "c")]
    assert sorted(row["status"] for row in kit.ledger(lake, "orders")) == ["committed", "committed"]
    assert lake.materialize("bronze", "orders", from_inbox=True).success, "nothing is left to do"
    assert len(kit.bronze(lake, "orders")) == 3
