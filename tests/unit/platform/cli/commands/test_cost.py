"""What `tidegate cost` prints to people and to programs."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.unit.assets.test_costs import report
from tidegate.platform.cli.commands import cost
from tidegate.platform.cli.commands.cost import CostsQuestion, run_cost
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.config.lake import CostsSpec
from tidegate.platform.core.costs.replay import Timing
from tidegate.platform.core.costs.table_cost import LakeCosts, Remedy

REMEDY = Remedy(Timing(300), 1.5, 0.25, 1, 0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Return what the lake is asked for. It has two tables."""
    calls: list[tuple[Any, ...]] = []

    def costs(lake: Any, figures: Any, now: Any, *rest: Any) -> LakeCosts:
        calls.append(rest)
        tables = [] if rest[-1] else [report("orders", 2.0, REMEDY), report("items", 1.0)]
        return LakeCosts(tables, {"landing.bad": "s3://lake/tables/landing.bad.json is not a birth record"})

    monkeypatch.setattr(cost, "table_costs", costs)
    monkeypatch.setattr(cost, "table_named", lambda lake, name: f"landing.{name}")
    return calls


def printed(question: CostsQuestion, spec: CostsSpec | None = None, **options: Any) -> str:
    lake: Any = SimpleNamespace(config=SimpleNamespace(costs=spec, lake=SimpleNamespace(commits="dynamodb")))
    console = Console(file=StringIO(), width=160)
    run_cost(console, lake, Path("lake.yaml"), question, **options)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_people_see_the_months_and_the_remedies(asked: list[tuple[Any, ...]]) -> None:
    text = printed(CostsQuestion(limit=1))
    assert "orders: window 300 instead of 30: 25% of the cost, 1.50 dollars of the month less" in text
    line = next(line for line in text.splitlines() if "2026-11" in line)
    assert [cell.strip() for cell in line.strip("│").split("│")][:5] == [
        "orders",
        "2026-11",
        "2.5000",
        "0.5000",
        "2.0000",
    ]
    assert "–" in next(line for line in text.splitlines() if "2026-10" in line)
    assert "and 1 more tables" in text
    assert "WARNING: landing.bad is not in the costs, because it cannot be read: s3://lake/tables" in text


def test_programs_get_every_number_with_the_source_of_its_unit(asked: list[tuple[Any, ...]]) -> None:
    found = json.loads(printed(CostsQuestion(), CostsSpec(figures={"vcpu_hour": 0.02}), as_json=True))
    assert [table["table"] for table in found["tables"]] == ["orders", "items"]
    assert (found["tables"][0]["remedy"]["window"], found["tables"][1]["remedy"]) == (300, None)
    assert found["tables"][0]["months"][1]["total"] == 4.0
    assert found["figures"]["vcpu_hour"]["source"] == "lake.yaml, costs"
    assert (found["more"], list(found["unread"])) == (0, ["landing.bad"])
    cut = json.loads(printed(CostsQuestion(limit=1), as_json=True))
    assert ([table["table"] for table in cut["tables"]], cut["more"]) == (["orders"], 1)


def test_options_count_more_than_lake_yaml(asked: list[tuple[Any, ...]]) -> None:
    printed(CostsQuestion(), CostsSpec(months=6, fresh=60))
    printed(CostsQuestion(months=1, fresh=0), CostsSpec(months=6, fresh=60))
    printed(CostsQuestion())
    assert asked == [(6, 60, ""), (1, 0, ""), (3, 300, "")]


def test_a_table_without_a_batch_and_a_price_list_that_is_none_are_errors(asked: list[tuple[Any, ...]]) -> None:
    with pytest.raises(CommandError, match="orders has no batch yet"):
        printed(CostsQuestion("orders"))
    with pytest.raises(CommandError, match=r"bad cannot be read: .* is not a birth record"):
        printed(CostsQuestion("bad"))
    with pytest.raises(CommandError, match=r"absent\.csv cannot be read: No such file or directory"):
        printed(CostsQuestion(), CostsSpec(prices=("absent.csv",)))
