"""How far the handles `Lake` and `Table` travel through a bronze run, a merge of silver and a forget run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.walks import Tree

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("platform", "assets", "sensors", "resources")
#: By the function and the parameter that a walk begins with: how many functions receive a handle, and how often the way
#: returns to a module. A new figure may only be lower (decision 227).
CEILINGS = {
    ("platform.bronze.run:run_table", "table"): (57, 35),
    ("platform.silver.merge:_merge", "work"): (39, 28),
    ("platform.forgetting.forget:work_off", "lake"): (90, 63),
}


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(ROOT, PACKAGES, "tidegate")


@pytest.mark.parametrize(("start", "parameter"), CEILINGS)
def test_handles_travel_no_further_than_before(tree: Tree, start: str, parameter: str) -> None:
    walk = tree.walk(start, parameter)
    assert (len(walk.stays) <= CEILINGS[start, parameter][0], walk.returns <= CEILINGS[start, parameter][1]) == (
        True,
        True,
    ), f"{len(walk.stays)} stays and {walk.returns} returns: pass what a function uses instead of its table or lake"


_LAKE = """
class Table:
    def reopen(self) -> Table: ...
class Lake:
    def table(self, key: str) -> Table: ...
"""
_RUN = """
from functools import partial
from tidegate.platform.lake.lake import Lake, Table
from tidegate.platform.bronze.step.load import Load, load
def run(table: Table) -> None:
    leaf(table.reopen())
    load(table)
    load(table)
def leaf(table: Table) -> None:
    map(named, [table])
def named(table: Table) -> None:
    spec(table.spec)
def spec(spec: str) -> None:
    leaf(spec)
def back(lake: Lake) -> None:
    leaf(lake.table("a"))
"""
_LOAD = """
from tidegate.platform.lake.lake import Table
from tidegate.platform.bronze.run import back
class Load:
    def __init__(self, table: Table) -> None:
        self.table, self.n = table, 1
    def run(self) -> int:
        back(self.table.lake)
        return self.size()
    def size(self) -> int: ...
def load(table: Table) -> int:
    return Load(table).run()
"""


def test_a_walk_follows_a_handle_into_containers_and_branches(tmp_path: Path) -> None:
    for path, text in (("lake/lake.py", _LAKE), ("bronze/run.py", _RUN), ("bronze/step/load.py", _LOAD)):
        place = tmp_path / "platform" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    walk = Tree(tmp_path, ("platform",), "tidegate").walk("platform.bronze.run:run", "table")
    assert [stay.removeprefix("platform.") for stay in walk.stays] == [
        "bronze.run:run",
        "bronze.run:leaf",
        "bronze.run:named",
        "lake.lake:Table.reopen",
        "bronze.step.load:load",
        "bronze.step.load:Load.__init__",
        "bronze.step.load:Load.run",
        "bronze.run:back",
        "lake.lake:Lake.table",
        "bronze.step.load:Load.size",
    ]
    assert (len(walk.modules), walk.returns, walk.climbs) == (3, 7, 1)
    assert walk.events > len(walk.stays), "a repeated call is an event, and no stay"
    assert len(Tree(tmp_path, ("platform",), "tidegate").walk("platform.bronze.run:run", "table", limit=2).stays) == 3
