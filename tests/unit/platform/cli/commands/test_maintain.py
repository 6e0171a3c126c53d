"""`tidegate maintain`: what it maintains, that it asks first, and that one table's trouble is its own."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.unit.conftest import Paper
from tidegate.platform.cli.answers.plans import MaintainAnswer, MaintainedTable
from tidegate.platform.cli.commands import maintain as module
from tidegate.platform.cli.commands import maintain as selection
from tidegate.platform.cli.commands.maintain import run_maintain
from tidegate.platform.cli.errors import CommandError
from tidegate.platform.core.errors import BadSetting
from tidegate.platform.maintenance.deletion import FreedObjects
from tidegate.platform.maintenance.tables import MaintenanceResult, TableBusy

BORN = ["landing.orders", "landing.found"]


class Shop:
    """A lake on paper, and the calls that maintain it."""

    def __init__(self, paper: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, bool]] = []
        self.errors: dict[str, Exception] = {}
        lake = SimpleNamespace(
            config=paper.config,
            store=SimpleNamespace(births=SimpleNamespace(tables=lambda: BORN, read=lambda key: None)),
            delta=SimpleNamespace(check_session_alive=lambda: None),
            spec=lambda key: paper.config.table_for(key) or SimpleNamespace(name=""),
        )

        @contextmanager
        def opened() -> Iterator[Any]:
            yield lake

        using = SimpleNamespace(open_lake=opened)
        monkeypatch.setattr(module, "client", lambda *_: using)
        monkeypatch.setattr(selection, "maintain_bronze", self._maintained)
        monkeypatch.setattr(selection, "maintain_silver", self._maintained)
        monkeypatch.setattr(selection, "maintain_objects", self._objects)

    def _objects(self, lake: Any, now: float, *, dry_run: bool, log: Any) -> list[MaintenanceResult]:
        return self._maintained(lake, "lake", dry_run=dry_run, log=log)

    def _maintained(self, lake: Any, what: str, *, dry_run: bool, log: Any) -> list[MaintenanceResult]:
        self.calls.append((what, dry_run))
        if error := self.errors.get(what):
            raise error
        log(f"{what} is maintained")
        return [MaintenanceResult(what, data=FreedObjects(2, 10))]

    def run(self, name: str | None, *, yes: bool = True, as_json: bool = False) -> str:
        console = Console(file=io.StringIO(), width=200)
        try:
            run_maintain(console, name, Path("lake.yaml"), None, yes=yes, as_json=as_json)
        finally:
            self.said = console.file.getvalue()  # type: ignore[attr-defined]
        return str(self.said)


@pytest.fixture
def shop(paper: Paper, monkeypatch: pytest.MonkeyPatch) -> Shop:
    return Shop(paper, monkeypatch)


@pytest.mark.parametrize(
    ("name", "maintained"),
    [
        (None, ["landing.found", "landing.orders", "orders", "items", "lake"]),
        ("bronze.orders", ["landing.orders", "orders"]),
        ("landing.found", ["landing.found"]),
        ("silver.items", ["items"]),
    ],
)
def test_a_table_is_maintained_with_its_silver_table_and_without_a_name_everything(
    shop: Shop, name: str | None, maintained: list[str]
) -> None:
    assert f"{2 * len(maintained)} files ({10 * len(maintained)} bytes) were deleted" in shop.run(name)
    assert shop.calls == [(what, False) for what in maintained]


def test_without_yes_it_is_a_dry_run_and_says_what_to_type(shop: Shop) -> None:
    said = shop.run("silver.orders", yes=False)
    assert shop.calls == [("orders", True)]
    assert "would be deleted" in said
    assert "Nothing was changed. To do it: tidegate maintain silver.orders --yes" in said


def test_one_table_s_trouble_keeps_no_other_from_its_maintenance(shop: Shop) -> None:
    shop.errors = {"landing.found": TableBusy("batch 8 is decided"), "orders": ValueError("its retention is odd")}
    with pytest.raises(CommandError, match="1 tables could not be maintained"):
        shop.run(None)
    assert [what for what, _ in shop.calls] == ["landing.found", "landing.orders", "orders", "items", "lake"]
    assert "landing.found: batch 8 is decided" in shop.said
    assert "silver.orders failed: its retention is odd" in shop.said


def test_the_plan_is_printed_for_programs(shop: Shop) -> None:
    answer = MaintainAnswer.model_validate_json(shop.run("bronze.orders", yes=False, as_json=True), strict=True)
    assert shop.calls == [("landing.orders", True), ("orders", True)]
    assert answer.tables[1] == MaintainedTable(table="orders", merged=0, checkpoint=False, files=2, bytes=10, source="")
    shop.errors = {"landing.found": TableBusy("batch 8 is decided"), "orders": ValueError("its retention is odd")}
    with pytest.raises(CommandError, match="1 tables could not be maintained"):
        shop.run(None, yes=False, as_json=True)
    answer = MaintainAnswer.model_validate_json(shop.said, strict=True)
    assert [table.table for table in answer.tables] == ["landing.orders", "items", "lake"]
    assert [(each.table, each.busy, each.why) for each in answer.left_out] == [
        ("landing.found", True, "batch 8 is decided"),
        ("silver.orders", False, "its retention is odd"),
    ]


def test_a_table_that_is_not_there_is_named_with_those_that_are(shop: Shop) -> None:
    with pytest.raises(CommandError, match=r"no silver table 'silver\.plain': lake\.yaml has silver\.orders"):
        shop.run("silver.plain")
    with pytest.raises(BadSetting, match="there is no table 'nothing'"):
        shop.run("nothing")
