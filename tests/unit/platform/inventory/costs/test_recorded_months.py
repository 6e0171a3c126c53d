from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from tidegate.platform.core.costs.table_cost import Recorded
from tidegate.platform.inventory.costs import recorded_months, recorded_tables
from tidegate.platform.inventory.costs.recorded_months import SharedRuns, _months, _with_slots, month_of

#: 30 November 2026, as days since 1970.
DAY = 20_787


def day(day: int, runs: list[int], **values: Any) -> dict[str, Any]:
    plain = {"batches": 2, "timed": 1, "milliseconds": 1500, "messages": 3, "manifests": 2, "files": 3, "bytes": 300}
    return {"day": day, "runs": np.array(runs, np.int64), **plain, **values}


def shared(*tables: list[int]) -> SharedRuns:
    found = SharedRuns()
    found.add([np.array(runs, np.int64)] for runs in tables)
    return found


def test_days_become_months_the_last_one_first() -> None:
    days = [day(DAY + 1, [3]), day(DAY, [2]), day(DAY - 1, [1, 2])]
    december, november = _months(days, shared([1, 2, 3]))
    assert (december.month, november.month) == (month_of(DAY + 1), month_of(DAY)) == ("2026-12", "2026-11")
    assert (november.batches, november.timed, november.seconds, november.files) == (4, 2, 3.0, 6)
    assert (november.messages, november.manifests, november.bytes) == (6, 4, 600)
    assert november.runs == 2.0, "a run over midnight counts once"


def test_a_run_of_several_tables_is_paid_for_by_all_of_them() -> None:
    (month,) = _months([day(DAY, [1, 2])], shared([1, 2], *[[2]] * 49))
    assert month.runs == pytest.approx(1.02)


RUNS = st.lists(st.lists(st.integers(-9, 9), max_size=6), max_size=4)


@given(st.lists(st.lists(RUNS, max_size=4), max_size=4))
def test_the_parts_of_all_tables_are_the_runs(parts: list[list[list[list[int]]]]) -> None:
    """Tables are counted in parts. A table has a run in several arrays."""
    found, tables = SharedRuns(), [[np.array(runs, np.int64) for runs in table] for part in parts for table in part]
    numbers = iter(tables)
    for part in parts:
        found.add([next(numbers) for _ in part])
    assert sum(map(found.part, tables)) == pytest.approx(
        len({run for table in tables for runs in table for run in runs})
    )


def test_a_lake_with_more_ledgers_than_a_query_has_counts_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tables share the run 7, and each has a run of its own. Its batch is in a slot of its own."""
    asked_for: list[int] = []

    def together(queries: dict[str, dict[str, Any]]) -> Any:
        asked_for.append(len(queries))
        rows = [{"table_key": key, **row} for key, row in queries.items()]
        return SimpleNamespace(toArrow=lambda: pa.Table.from_pylist(rows))

    monkeypatch.setattr(recorded_tables, "_union_queries", together)
    monkeypatch.setattr(recorded_months, "_days", lambda rows, n: {**day(DAY, []), "runs": [7, 100 + n, 7]})
    monkeypatch.setattr(
        recorded_months._Rows, "slots", lambda self, n: {"day": DAY, "is_batch": True, "slot": n, "count": 1}
    )
    ledgers: Any = {f"t{n}": n for n in range(95)}
    failed: dict[str, PySparkException] = {}
    found = dict(recorded_months.recorded_months(ledgers, datetime(2026, 11, 1, tzinfo=UTC), 30.0, failed))
    assert asked_for == [40, 40, 15] * 2
    assert list(found) == list(ledgers)
    assert [(month.runs, month.begun) for (month,) in found.values()] == [
        (pytest.approx(1 + 1 / 95), [n]) for n in range(95)
    ]
    asked_for.clear()
    since = datetime(2026, 11, 1, tzinfo=UTC)
    ((key, (month,)),) = recorded_months.recorded_months(ledgers, since, 30.0, failed, {"t94"})
    assert failed == {}
    assert (key, month.runs, asked_for) == ("t94", pytest.approx(1 + 1 / 95), [40, 40, 15, 1])


@pytest.mark.parametrize("damaged", [{"t3"}, {"t0", "t39", "t40"}, {f"t{n}" for n in range(41)}])
def test_a_ledger_that_cannot_be_read_takes_no_other_with_it(
    monkeypatch: pytest.MonkeyPatch, damaged: set[str]
) -> None:
    def together(queries: dict[str, int]) -> Any:
        def rows() -> pa.Table:
            if damaged & queries.keys():
                raise PySparkException("FILE_NOT_EXIST")
            return pa.Table.from_pylist([{"table_key": key, "n": n} for key, n in queries.items()])

        return SimpleNamespace(toArrow=rows)

    monkeypatch.setattr(recorded_tables, "_union_queries", together)
    keys = [f"t{n}" for n in range(41)]
    query: Any = keys.index
    parts = list(recorded_tables.query_in_parts(keys, query))
    assert {key for part in parts for key in part.failed} == damaged
    rows = [row for part in parts for row in part.rows.to_pylist()]
    assert rows == [{"table_key": key, "n": n} for n, key in enumerate(keys) if key not in damaged]
    assert [key for part in parts for key in part.keys] == [row["table_key"] for row in rows]


def test_only_the_last_month_has_arrivals() -> None:
    batches = [(DAY, True, 5, 2), (DAY + 1, True, 7, 1)]
    slots = [*batches, (DAY, False, 4, 9), (DAY + 1, False, 6, 3), (DAY + 2, False, 6, 1)]
    columns = dict(zip(("day", "is_batch", "slot", "count"), map(list, zip(*slots, strict=True)), strict=True))
    december, november = _with_slots([Recorded("2026-12"), Recorded("2026-11")], pa.table(columns))
    assert (december.begun, december.arrivals) == ([7], [(6, 4)])
    assert (november.begun, november.arrivals) == ([5, 5], ())
    assert _with_slots([], pa.table(columns).slice(0, 0)) == []
