"""The SQL names of tables: which table gets a name, what it costs, and what a failure must not stop."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.core.bronze.birth import Birth
from tidegate.platform.core.errors import DataError
from tidegate.platform.core.keys.table_key import TableKey
from tidegate.platform.lake import sql_names
from tidegate.platform.lake.lake import Lake
from tidegate.platform.lake.spark.catalog import Naming, TableName
from tidegate.platform.lake.sql_names import SqlNames


class Births:
    """Birth records of tables, of which one record is broken. `asked` has the tables whose record was read."""

    def __init__(self, tables: list[str]) -> None:
        self._tables = tables
        self.asked: list[str] = []

    def tables(self) -> list[str]:
        return self._tables

    def read(self, table_key: str) -> Birth | None:
        name = table_key.split(".")[-1].rstrip("/")
        self.asked.append(name)
        if name == "record":
            raise ValueError("no birth record\n\tat a.b.C")
        return None if name == "unborn" else Birth("g", f"s3a://b/{name}", name, registered=False)


class Namer:
    """Names every table except the one with a broken log and the one without a log. Counts the calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.names: list[str] = []
        self.locations: list[str] = []

    def check_session_alive(self) -> None:
        pass

    @property
    def catalog(self) -> Namer:
        return self

    def may_have_quarantined(self, ledgers: Sequence[str]) -> list[bool]:
        self.calls += 1
        return [ledger.endswith("torn") for ledger in ledgers]

    def name_tables(self, names: Sequence[TableName]) -> list[Naming]:
        self.calls += 1
        self.names += [f"{name.schema}.{name.name}" for name in names]
        self.locations += [name.location for name in names]
        return [
            Naming(False, "its log is broken\n\tat a.b.C")
            if (name.schema, name.name) == ("bronze", "torn")
            else Naming(name.name not in ("torn", "empty"), None)
            for name in names
        ]


def lake_of(tables: list[str], delta: Any) -> Lake:
    config = SimpleNamespace(
        # The table `old` was born before lake.yaml gave it another name.
        table_for=lambda key: SimpleNamespace(name=key.prefix.rstrip("/").replace("old", "new"), silver=None),
        taker_of_name=lambda name, key: None,
        forget=None,
    )
    keys = [TableKey("shop", f"{name}/").encode() for name in tables]
    store = SimpleNamespace(
        births=Births(keys), uri=lambda *parts: "s3a://lake/" + "/".join(parts), batches=lambda folder: None
    )
    return Lake(config, store, delta, [])  # type: ignore[arg-type]


def test_a_table_that_cannot_be_named_is_left_out_and_hinders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def fail(delta: Any, root: Any, ledgers: Any) -> None:
        given.extend(ledgers)
        raise RuntimeError("no view today")

    monkeypatch.setattr(sql_names, "name_lake_tables", fail)
    lake = lake_of(["empty", "orders", "record", "torn", "unborn"], Namer())
    key = {name: TableKey("shop", f"{name}/").encode() for name in ("orders", "record", "torn")}
    assert [str(problem) for problem in SqlNames(lake).name_tables()] == [
        f"table {key['record']} has no SQL names: no birth record",
        f"table {key['torn']} has no SQL names: its log is broken",
        "table lake.quarantine has no SQL names: no view today",
    ]
    assert given == [(key["orders"], "orders")]
    with pytest.raises(DataError, match="its log is broken"):
        SqlNames(lake).name_table(key["torn"])


@pytest.mark.parametrize("tables", [1, 200])
def test_the_server_is_called_once_however_many_tables_there_are(monkeypatch: pytest.MonkeyPatch, tables: int) -> None:
    monkeypatch.setattr(sql_names, "name_lake_tables", lambda delta, root, ledgers: None)
    namer = Namer()
    assert SqlNames(lake_of([f"t{n}" for n in range(tables)], namer)).name_tables() == []
    assert namer.calls == 1


def test_a_query_costs_its_own_tables_and_no_other() -> None:
    namer = Namer()
    lake = lake_of([f"t{n}" for n in range(1000)] + ["record", "Upper"], namer)
    births: Any = lake.store.births
    assert SqlNames(lake).name_queried_tables({"t7", "t9_with_tombstones", "upper"}) == []
    assert sorted(births.asked) == ["Upper", "t7", "t9"]
    assert set(namer.names) == {f"{schema}.{name}" for schema in ("bronze", "ledger") for name in ("t7", "t9", "Upper")}
    assert namer.calls == 1


@pytest.mark.parametrize("born", [True, False])
def test_a_name_is_that_of_the_table_to_which_lake_yaml_gives_it_once_it_is_born(
    monkeypatch: pytest.MonkeyPatch, born: bool
) -> None:
    monkeypatch.setattr(sql_names, "name_lake_tables", lambda delta, root, ledgers: None)
    for old, new in (("a/orders", "z/orders"), ("z/orders", "a/orders")):
        namer = Namer()
        lake: Any = lake_of([old, new] if born else [old], namer)
        taker = TableKey("shop", f"{new}/")
        lake.config.taker_of_name = lambda name, key, taker=taker: (
            None if key == taker else SimpleNamespace(table_key=taker, prefix=taker.uri)
        )
        lake.config.table_for = lambda key, taker=taker: (
            SimpleNamespace(name="orders", silver=None) if key == taker else None
        )
        lake.spec = lambda key: SimpleNamespace(name="orders")
        read = lake.store.births.read
        lake.store.births.read = lambda key, read=read, lake=lake: (
            read(key) if key in lake.store.births.tables() else None
        )
        key = TableKey("shop", f"{new if born else old}/").encode()
        other = TableKey("shop", f"{old}/").encode()
        assert [str(problem) for problem in SqlNames(lake).name_tables()] == [
            f"table {other} has no SQL names: lake.yaml gives its name orders to s3://shop/{new}/: to query both "
            "tables, give that table another `name` and start the table over with `tidegate reset orders`"
        ] * born
        assert namer.locations == ["s3a://b/orders", f"s3a://lake/ledger/{key}"]
        assert SqlNames(lake).table_key_of("orders") == key


def test_a_table_is_found_by_the_name_that_it_was_born_with() -> None:
    namer = Namer()
    lake = lake_of(["old", "other", "torn"], namer)
    assert SqlNames(lake).name_queried_tables({"old"}) == []
    assert namer.names == ["bronze.old", "ledger.old"]
    assert [problem.table for problem in SqlNames(lake).name_queried_tables({"torn", "nothing"})] == [
        TableKey("shop", "torn/").encode()
    ]


def test_what_is_in_quarantine_is_asked_of_the_ledgers_that_may_say_it() -> None:
    namer = Namer()
    lake = lake_of([f"t{n}" for n in range(1000)] + ["record", "unborn", "torn"], namer)
    torn = TableKey("shop", "torn/").encode()
    assert [table.table_key for table in lake.quarantining_tables()] == [torn]
    assert namer.calls == 1
    query = SqlNames(lake).quarantine_query()
    assert query.count("s3a://lake/ledger/") == 1
    assert "SELECT 'torn', 's3://shop/', status" in query
    assert SqlNames(lake).table_key_of("torn") == torn
    assert SqlNames(lake).table_key_of("nothing") is None
