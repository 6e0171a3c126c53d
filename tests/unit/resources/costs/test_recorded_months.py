from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from tidegate.platform.core.costs.table_cost import Recorded
from tidegate.resources.costs.recorded_months import _months, _with_slots, month_of

#: 30 November 2026, as days since 1970.
DAY = 20_787


def day(day: int, runs: list[int], **values: Any) -> Row:
    plain = {"batches": 2, "timed": 1, "milliseconds": 1500, "messages": 3, "manifests": 2, "files": 3, "bytes": 300}
    return Row(day=day, runs=runs, **{**plain, **values})


def test_days_become_months_the_last_one_first() -> None:
    days = [day(DAY + 1, [3]), day(DAY, [2]), day(DAY - 1, [1, 2])]
    december, november = _months(days, {1: 1, 2: 1, 3: 1})
    assert (december.month, november.month) == (month_of(DAY + 1), month_of(DAY)) == ("2026-12", "2026-11")
    assert (november.batches, november.timed, november.seconds, november.files) == (4, 2, 3.0, 6)
    assert (november.messages, november.manifests, november.bytes) == (6, 4, 600)
    assert november.runs == 2.0, "a run over midnight counts once"


def test_a_run_of_several_tables_is_paid_for_by_all_of_them() -> None:
    (month,) = _months([day(DAY, [1, 2])], {1: 1, 2: 50})
    assert month.runs == pytest.approx(1.02)


def test_only_the_last_month_has_arrivals() -> None:
    batches = [(DAY, True, 5, 2), (DAY + 1, True, 7, 1)]
    slots = [*batches, (DAY, False, 4, 9), (DAY + 1, False, 6, 3), (DAY + 2, False, 6, 1)]
    columns = dict(zip(("day", "is_batch", "slot", "count"), map(list, zip(*slots, strict=True)), strict=True))
    december, november = _with_slots([Recorded("2026-12"), Recorded("2026-11")], pa.table(columns))
    assert (december.begun, december.arrivals) == ([7], [(6, 4)])
    assert (november.begun, november.arrivals) == ([5, 5], ())
    assert _with_slots([], pa.table(columns).slice(0, 0)) == []
