"""Orders of a key, sorted by Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tidegate.platform.silver.audit.orders import Orders


def test_equal_orders_are_one_whatever_their_texts_are() -> None:
    """As Spark answers for 0.0 and -0.0."""
    answer = [("old", '{"o1":-1.0}', False), ("a", '{"o1":-0.0}', False), ("b", '{"o1":0.0}', True), ("c", "{}", False)]
    session: Any = SimpleNamespace(sql=lambda _: SimpleNamespace(collect=lambda: [[answer]]))
    orders = Orders.from_values(session, "struct<o1: double>", ["old", "a", "b", "c"])
    assert orders.texts["a"] == orders.texts["b"]
    assert [orders.rank(text) for text in ("old", "a", "b", "c")] == [3, 2, 2, 1]
