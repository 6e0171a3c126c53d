"""What becomes of entries of the Glue Data Catalog if tables move, are left out, or cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.unit.conftest import PAPER
from tidegate.platform.catalog import sync_catalog, sync_table
from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.config.lake import LakeConfig
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.lake.aws.s3 import StoreError
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.results import TableState
from tidegate.platform.lake.spark.server_errors import SparkUnreachable

ORDERS, ITEMS, PLAIN, MOVED = "landing.orders", "landing.items", "second.plain", "landing.moved"
NAMES = {ORDERS: "orders", ITEMS: "items", PLAIN: "plain"}
SILVER = ("clean.items", "clean.items_with_tombstones", "clean.orders", "clean.orders_with_tombstones")
ALL = ("raw.items", "raw.orders", "raw.plain", *SILVER)
DAMAGES = [ValueError("no birth record"), StoreError("S3 is slow"), PySparkException("the log is damaged\n at x.java")]


class Databases:
    """Glue's databases in memory."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}

    def table(self, database: str, name: str) -> dict[str, Any] | None:
        return self.entries.get(f"{database}.{name}")

    def tables(self, database: str) -> dict[str, dict[str, Any]]:
        return {entry["Name"]: entry for entry in self.entries.values() if entry["DatabaseName"] == database}

    def create(self, database: str, table: Mapping[str, Any]) -> None:
        self.entries[f"{database}.{table['Name']}"] = {**table, "DatabaseName": database, "VersionId": "1"}

    def update(self, database: str, table: Mapping[str, Any], version: str | None) -> None:
        self.create(database, table)

    def delete(self, database: str, name: str) -> None:
        del self.entries[f"{database}.{name}"]

    def holder(self, entry: str) -> str:
        return str(self.entries[entry]["Parameters"]["tidegate.table"])


class Pier:
    """A lake whose tables all have one column, and their entries."""

    def __init__(self) -> None:
        self.glue = Databases()
        self.names = dict(NAMES)
        self.damaged: dict[str, Exception] = {}
        self.server_lost = False
        self.paper: dict[str, Any] = PAPER
        self.catalog: dict[str, Any] = {"bronze": "raw", "silver": "clean"}

    @property
    def lake(self) -> Any:
        lake = SimpleNamespace(
            id="this-lake",
            config=LakeConfig.model_validate({**self.paper, "catalog": self.catalog}),
            catalog=self.glue,
            table=self._table,
            store=SimpleNamespace(
                births=SimpleNamespace(tables=lambda: list(self.names), read=self._birth),
                uri=lambda *path: f"s3a://lake/{'/'.join(path)}",
            ),
            delta=SimpleNamespace(table_state=self._state, check_session_alive=self._alive),
        )
        lake.lost_name = partial(Lake.lost_name, lake)
        return lake

    def _birth(self, table_key: str) -> Birth | None:
        return (
            Birth("g", f"s3a://lake/bronze/{table_key}", self.names[table_key], False)
            if table_key in self.names
            else None
        )

    def _table(self, table_key: str) -> Any:
        if table_key in self.damaged:
            raise self.damaged[table_key]
        return SimpleNamespace(key=TableKey.decode(table_key), table_key=table_key, birth=self._birth(table_key))

    def _state(self, location: str) -> TableState:
        schema = TableSchema((Field("id", simple_type("bigint")),))
        return TableState(3, None, "id", {}, schema, 1)

    def _alive(self) -> None:
        if self.server_lost:
            raise SparkUnreachable("no Spark server answers")

    def configured(self, name: str, /, **settings: Any) -> None:
        """Change settings of a table in lake.yaml. None removes a setting."""
        tables: list[dict[str, Any]] = [
            {**table, **(settings if table["name"] == name else {})} for table in self.paper["tables"]
        ]
        self.paper = {**self.paper, "tables": [_without_none(table) for table in tables]}

    def moved(self) -> None:
        """Give the table `orders` another prefix, whose bronze table has another name. Silver survives."""
        self.configured("orders", prefix="s3://landing/moved/")
        self.names[MOVED] = "moved"

    def synced(self, *, dry_run: bool = False) -> list[str]:
        return [str(change) for change in sync_catalog(self.lake, dry_run=dry_run).changes]


def _without_none(table: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value is not None}


@pytest.fixture
def pier() -> Pier:
    pier = Pier()
    pier.synced()
    assert sorted(pier.glue.entries) == sorted(ALL)
    return pier


def test_the_entries_of_silver_follow_the_prefix_of_their_table(pier: Pier) -> None:
    pier.moved()
    changes = ["raw.moved: created", "clean.orders_with_tombstones: updated: parameters"]
    changes.append("clean.orders: updated: parameters")
    assert pier.synced(dry_run=True) == changes
    assert pier.synced() == changes
    assert pier.synced() == []
    assert [pier.glue.holder(entry) for entry in SILVER[2:]] == [MOVED, MOVED]
    assert pier.glue.holder("raw.orders") == ORDERS, "the bronze table of the old prefix exists still"


def test_the_entries_of_silver_stay_until_the_table_of_the_new_prefix_is_born(pier: Pier) -> None:
    """The silver table still has its rows, and its readers find it."""
    pier.moved()
    del pier.names[MOVED]
    assert pier.synced() == []
    assert set(SILVER) <= set(pier.glue.entries)
    pier.names[MOVED] = "moved"
    pier.synced()
    assert [pier.glue.holder(entry) for entry in SILVER[2:]] == [MOVED, MOVED]


def test_the_run_of_the_new_prefix_moves_the_entries_of_silver(pier: Pier) -> None:
    pier.moved()
    said: list[str] = []
    sync_table(pier.lake, MOVED, said.append)
    assert said[-1] == "catalog: clean.orders: updated: parameters"
    assert [pier.glue.holder(entry) for entry in SILVER[2:]] == [MOVED, MOVED]


@pytest.mark.parametrize("as_run", [True, False])
def test_the_entry_of_bronze_follows_the_name_to_the_table_of_the_new_prefix(pier: Pier, as_run: bool) -> None:
    pier.configured("orders", prefix="s3://landing/moved/")
    pier.synced()
    assert pier.glue.holder("raw.orders") == ORDERS, "nothing has arrived below the new prefix"
    pier.names[MOVED] = "orders"
    said: list[str] = []
    if as_run:
        sync_table(pier.lake, MOVED, said.append)
    else:
        said = pier.synced()
    (followed,) = [line for line in said if "raw.orders" in line]
    assert followed.endswith("raw.orders: updated: parameters, location, SerDe")
    assert pier.glue.holder("raw.orders") == MOVED
    assert pier.synced() == []


@pytest.mark.parametrize("as_run", [True, False])
def test_a_table_keeps_its_entry_from_another_of_its_name(pier: Pier, as_run: bool) -> None:
    pier.names[PLAIN] = "orders"
    said: list[str] = []
    if as_run:
        sync_table(pier.lake, PLAIN, said.append)
    else:
        said = pier.synced()
    (refused,) = [line for line in said if "raw.orders" in line]
    assert refused.endswith(
        f"is the entry of the table {ORDERS}: give one of the two tables another `name` in lake.yaml"
    )
    assert pier.glue.holder("raw.orders") == ORDERS


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: type(damage).__name__)
def test_a_damaged_table_is_reported_and_the_others_are_brought_in_step(pier: Pier, damage: Exception) -> None:
    pier.damaged[ITEMS] = damage
    pier.glue.delete("raw", "plain")
    done = sync_catalog(pier.lake, dry_run=False)
    (failed,) = done.failed
    first = str(damage).splitlines()[0]
    assert str(failed) == f"{ITEMS}: cannot be read, so its entries stay as they are: {first}"
    assert [str(change) for change in done.changes if not change.failed] == ["raw.plain: created"]
    assert sorted(pier.glue.entries) == sorted(ALL)


def test_no_other_table_takes_the_entry_of_a_damaged_table(pier: Pier) -> None:
    pier.damaged[ORDERS] = ValueError("no birth record")
    pier.names[PLAIN] = "orders"
    pier.synced()
    assert pier.glue.holder("raw.orders") == ORDERS


def test_a_lost_server_is_not_a_fault_of_a_table(pier: Pier) -> None:
    pier.damaged[ITEMS] = PySparkException("the session is gone")
    pier.server_lost = True
    with pytest.raises(SparkUnreachable):
        pier.synced()


@pytest.mark.parametrize("damage", [*DAMAGES, SparkUnreachable("gone")], ids=lambda damage: type(damage).__name__)
def test_a_run_that_has_committed_does_not_fail_with_its_catalog(pier: Pier, damage: Exception) -> None:
    pier.damaged[ORDERS] = damage
    said: list[str] = []
    sync_table(pier.lake, ORDERS, said.append)
    first = str(damage).splitlines()[0]
    assert said == [f"WARNING: the catalog does not follow yet: {first}. `tidegate catalog sync` repeats it"]


def _dropped(pier: Pier) -> None:
    del pier.names[PLAIN]


def _left_out(pier: Pier) -> None:
    pier.catalog = {**pier.catalog, "tables": ["orders", "items"]}


def _without_silver(pier: Pier) -> None:
    pier.configured("items", silver=None)


def _renamed(pier: Pier) -> None:
    pier.configured("items", name="things")


def _reborn(pier: Pier) -> None:
    pier.names[PLAIN] = "simple"


@pytest.mark.parametrize(
    ("change", "entry", "why"),
    [
        (_dropped, "raw.plain", "its table is gone"),
        (_left_out, "raw.plain", "`catalog.tables` in lake.yaml leaves its table out"),
        (_without_silver, "clean.items", "its table has no `silver` in lake.yaml"),
        (_without_silver, "clean.items_with_tombstones", "its table has no `silver` in lake.yaml"),
        (_renamed, "clean.items_with_tombstones", "its table has the name things now"),
        (_reborn, "raw.plain", "its table has the name simple now"),
    ],
)
def test_the_reason_of_a_deletion_is_the_true_reason(
    pier: Pier, change: Callable[[Pier], None], entry: str, why: str
) -> None:
    change(pier)
    assert f"{entry}: deleted, because {why}" in pier.synced()
    assert entry not in pier.glue.entries
