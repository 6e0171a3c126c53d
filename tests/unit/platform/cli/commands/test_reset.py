"""The plan of a reset, for people and for programs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.cli.commands.reset import plan_answer, plan_lines
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.operations.reset import ResetPlan


def renamed(name: str) -> ResetPlan:
    spec = SimpleNamespace(name=name, silver=None, output=None)
    key = SimpleNamespace(uri="s3://landing/iot/")
    ledger = SimpleNamespace(location="s3a://l")
    table: Any = SimpleNamespace(spec=spec, key=key, table_key="landing.iot", ledger=ledger)
    birth = Birth("generation", "s3a://l/b", "landing__iot", registered=False)
    return ResetPlan(table, birth, 3, True, None, "s3a://landing/iot", 6, 5, 50, ("iot/a",), 10, 4)


@pytest.mark.parametrize("name", ["iot", "landing__iot"])
def test_a_reset_says_that_the_table_gets_another_name(name: str) -> None:
    found = renamed(name)
    lines = [line for line in plan_lines(SimpleNamespace(), found) if "NAME" in line]  # type: ignore[arg-type]
    assert len(lines) == (name != "landing__iot")
    assert all("bronze.iot from now on" in line and "ledger.landing__iot remain names" in line for line in lines)


def test_the_plan_for_programs_has_its_numbers() -> None:
    assert plan_answer(renamed("iot")).model_dump(mode="json") == {
        "table": "landing__iot",
        "key": "landing.iot",
        "new_name": "iot",
        "mode": "register",
        "mode_before": "load",
        "location": "s3a://landing/iot",
        "objects": 6,
        "batches": 3,
        "committed": 5,
        "rows": 50,
        "live_files": 4,
        "lost": ["iot/a"],
        "lost_rows": 10,
    }
