"""The plan of a reset lists the names of a table that was renamed in lake.yaml."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.assets.operations.reset import ResetPlan
from tidegate.platform.cli.commands.reset import plan_lines
from tidegate.platform.core.bronze.birth import Birth


@pytest.mark.parametrize("name", ["iot", "landing__iot"])
def test_a_reset_says_that_the_table_gets_another_name(name: str) -> None:
    spec = SimpleNamespace(name=name, silver=None, output=None)
    key = SimpleNamespace(uri="s3://landing/iot/")
    table: Any = SimpleNamespace(
        spec=spec, key=key, table_key="landing.iot", ledger=SimpleNamespace(location="s3a://l")
    )
    birth = Birth("generation", "s3a://l/b", "landing__iot", registered=False)
    found = ResetPlan(table, birth, 3, False, False, "s3a://l/b", 1, 1, 1, (), 0, 1)
    lines = [line for line in plan_lines(SimpleNamespace(), found) if "NAME" in line]  # type: ignore[arg-type]
    assert len(lines) == (name != "landing__iot")
    assert all("bronze.iot from now on" in line and "ledger.landing__iot remain names" in line for line in lines)
