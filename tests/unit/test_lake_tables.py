"""``lake.intake`` and ``lake.quarantine``: when they are made, and what that may not hinder."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.resources import lake as lake_module
from tidegate.resources.lake import Lake
from tidegate.resources.lake_root.root import LakeRoot
from tidegate.resources.lake_tables import name_lake_tables

ROOT = LakeRoot(SimpleNamespace(), "s3://lake/root")  # type: ignore[arg-type]


class Server:
    """Remembers the names that it was given."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.views: dict[str, tuple[str, str]] = {}

    def make_schema(self, schema: str) -> None:
        pass

    def name_table(self, schema: str, name: str, location: str, definition: str) -> None:
        self.calls.append(f"{schema}.{name}")

    def name_view(self, schema: str, name: str, query: str, mark: str) -> None:
        self.calls.append(f"{schema}.{name}")
        self.views[f"{schema}.{name}"] = (mark, query)

    def view_mark(self, schema: str, name: str) -> str | None:
        return self.views.get(f"{schema}.{name}", (None, ""))[0]


def test_they_are_made_once_and_anew_when_a_ledger_is_new() -> None:
    server: Any = Server()
    orders, items = ("shop.orders", "orders"), ("shop.items", "items")
    name_lake_tables(server, ROOT, [orders])
    assert set(server.calls) >= {"lake.intake", "lake.quarantine"}
    assert "FROM ledger.orders" in server.views["lake.quarantine"][1]
    made = len(server.calls)
    name_lake_tables(server, ROOT, [orders])
    assert len(server.calls) == made
    name_lake_tables(server, ROOT, [orders, items])
    assert "FROM ledger.items" in server.views["lake.quarantine"][1]


def test_a_table_that_cannot_be_named_is_left_out_and_hinders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def name_table(self: Lake, text: str) -> str | None:
        if text == "shop.bad":
            raise ValueError("its log is broken\n\tat a.b.C")
        return None if text == "shop.unborn" else text.split(".")[1]

    def fail(delta: Any, root: Any, ledgers: Any) -> None:
        given.extend(ledgers)
        raise RuntimeError("no view today")

    monkeypatch.setattr(Lake, "name_table", name_table)
    monkeypatch.setattr(lake_module, "name_lake_tables", fail)
    births = SimpleNamespace(tables=lambda: ["shop.orders", "shop.bad", "shop.unborn"])
    store, delta = SimpleNamespace(births=births), SimpleNamespace(require_session=lambda: None)
    unnamed = Lake(SimpleNamespace(), store, delta, []).name_tables()  # type: ignore[arg-type]
    assert given == [("shop.orders", "orders")]
    assert [str(one) for one in unnamed] == [
        "table shop.bad has no SQL names: its log is broken",
        "table lake.quarantine has no SQL names: no view today",
    ]
