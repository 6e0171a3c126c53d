"""The plans of rebuilds for programs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tidegate.platform.cli.answers.plans import RebuildAnswer
from tidegate.platform.cli.commands.rebuild import plan_answer, silver_plan_answer
from tidegate.platform.core.bronze.hint import Hint, Rebuild
from tidegate.platform.operations.rebuild import RebuildPlan
from tidegate.platform.operations.silver_rebuild import SilverRebuildPlan


def test_the_plans_for_programs_have_their_numbers() -> None:
    kept: Any = SimpleNamespace(key="shop/gone", rows=7)
    table: Any = SimpleNamespace(table_key="landing.shop")
    hints = tuple(Hint(f"shop/{n}", Rebuild(), 10) for n in range(3))
    bronze = plan_answer(RebuildPlan(table, "shop", 9, hints, others=1, size=30, kept=(kept,), waiting=2))
    assert bronze.model_dump(mode="json") == {
        "layer": "bronze",
        "table": "bronze.shop",
        "key": "landing.shop",
        "batch": 9,
        "files": 2,
        "other_files": 1,
        "bytes": 30,
        "kept": ["shop/gone"],
        "kept_rows": 7,
        "waiting": 2,
    }
    spec: Any = SimpleNamespace(name="shop", table_key=SimpleNamespace(encode=lambda: "landing.shop"))
    silver = silver_plan_answer(SilverRebuildPlan(spec, 9, 4, 5))
    expected = {
        "table": "silver.shop",
        "key": "landing.shop",
        "batch": 9,
        "from_batch": 1,
        "files": 4,
        "replaced_files": 5,
    }
    assert silver.model_dump(mode="json") == {"layer": "silver", **expected}
    for answer in (bronze, silver):
        assert RebuildAnswer.model_validate_json(RebuildAnswer(answer).model_dump_json(), strict=True).root == answer
