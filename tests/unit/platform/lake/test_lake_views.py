"""The views `lake.intake` and `lake.quarantine`: when they are created."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tidegate.platform.lake.lake_root.root import LakeRoot
from tidegate.platform.lake.lake_views import name_lake_tables

ROOT = LakeRoot(SimpleNamespace(), "s3://lake/root")  # type: ignore[arg-type]


class Server:
    """Records the names that it was given."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.views: dict[str, tuple[str, str]] = {}

    def make_schema(self, schema: str) -> None:
        pass

    def name_table(self, schema: str, name: str, location: str, definition: str) -> None:
        self.calls.append(f"{schema}.{name}")

    def name_view(self, schema: str, name: str, query: str, mark: str = "") -> None:
        self.calls.append(f"{schema}.{name}")
        self.views[f"{schema}.{name}"] = (mark, query)

    def derive_view(self, schema: str, name: str, pattern_schema: str, query: str, mark: str) -> None:
        assert f"{pattern_schema}.{name}" in self.views
        self.name_view(schema, name, query, mark)

    def view_mark(self, schema: str, name: str) -> str | None:
        return self.views.get(f"{schema}.{name}", (None, ""))[0]


def test_they_are_made_once_and_again_when_a_ledger_is_new() -> None:
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
