from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row

from tidegate.resources.costs.recorded_months import _months, month_of

#: 30 November 2026, as days since 1970.
DAY = 20_787


def day(day: int, runs: list[str], **values: Any) -> Row:
    plain = {"batches": 2, "timed": 1, "milliseconds": 1500, "messages": 3, "manifests": 2, "files": 3, "bytes": 300}
    return Row(day=day, runs=runs, begun=[day * 10 + 1, day * 10], **{**plain, **values})


def test_days_become_months_the_last_one_first() -> None:
    days = [day(DAY + 1, ["c"]), day(DAY, ["b"]), day(DAY - 1, ["a", "b"])]
    december, november = _months(days, {"a": 1, "b": 1, "c": 1})
    assert (december.month, november.month) == (month_of(DAY + 1), month_of(DAY)) == ("2026-12", "2026-11")
    assert (november.batches, november.timed, november.seconds, november.files) == (4, 2, 3.0, 6)
    assert (november.messages, november.manifests, november.bytes) == (6, 4, 600)
    assert november.begun == ((DAY - 1) * 10, (DAY - 1) * 10 + 1, DAY * 10, DAY * 10 + 1)


def test_a_run_of_several_tables_is_paid_for_by_all_of_them() -> None:
    (month,) = _months([day(DAY, ["own", "shared"])], {"own": 1, "shared": 50})
    assert month.runs == pytest.approx(1.02)
