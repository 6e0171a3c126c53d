"""What silver takes for one row without a word is named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tidegate.assets.silver.expect.collapse import collapsed, inferred_text_order
from tidegate.platform.core.schema.sql_types import simple_type


def test_text_is_no_order_unless_somebody_chose_it() -> None:
    parts = tuple(SimpleNamespace(column=path) for path in (("at",), ("seq",), ("made",), ("_message_id",), ()))
    types = tuple(simple_type(name) for name in ("string", "bigint", "string", "string", "string"))
    rules: Any = SimpleNamespace(order=parts, order_types=types)
    spec: Any = SimpleNamespace(columns={"Made": "string"}, partition_columns={}, registers=None, format=None)
    assert inferred_text_order(spec, rules) == ("at",)
    for given in ({"columns": {"AT": "string", "made": "string"}}, {"partition_columns": {"at": "string"}}):
        assert inferred_text_order(SimpleNamespace(**{**vars(spec), **given}), rules) == ()  # type: ignore[arg-type]
    for given, found in (({"registers": True}, ()), ({"format": "avro"}, ()), ({"format": "csv"}, ("at",))):
        assert inferred_text_order(SimpleNamespace(**{**vars(spec), **given}), rules) == found  # type: ignore[arg-type]


def test_each_kind_is_a_sentence_with_what_to_do() -> None:
    assert collapsed(0, ()) is None
    found = collapsed(1, ("at",)) or ""
    assert found.startswith("1 row of the merged batches has a NULL in `keys`")
    assert "`order` has at, which is text, and `columns` does not say so" in found
    assert "2 rows of the merged batches have" in (collapsed(2, ()) or "")
