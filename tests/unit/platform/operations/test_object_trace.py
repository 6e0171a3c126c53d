"""What a trace says of objects that an adopted table had before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.core.bronze.ledger import Cause, LedgerRow, Stamp, Status
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.lake.ledger import Decision
from tidegate.platform.operations.object_trace import _decision_detail, _verdict

KEY = "orders/a.parquet"


@pytest.mark.parametrize(
    ("cause", "verdict"),
    [
        (None, "its present bytes are in bronze.orders since version 3"),
        (
            Cause.LEFT,
            "its rows left bronze.orders before that table was adopted, and these bytes never bring them back",
        ),
    ],
)
def test_bytes_that_left_before_an_adoption_are_not_in_the_table(cause: Cause | None, verdict: str) -> None:
    row = LedgerRow(KEY, Status.PREEXISTING, etag="e1", size=10, cause=cause)
    last = Decision(Stamp("row", 1, "adopt by eva", 3, 0, 0), row)
    probe = S3Found("e1", 10, 0)
    way: Any = SimpleNamespace(
        undecided=(), held=(), last=last, probe=probe, name="bronze.orders", is_output=False, table=None
    )
    lake: Any = None
    assert _verdict(lake, way, KEY) == verdict
    assert _decision_detail(way, last) == "preexisting by run adopt by eva; etag e1; no event"
