"""Maps are compared by their entries."""

from __future__ import annotations

from tidegate.platform.core.schema.column_types import Array, Field, Map, Simple, Struct
from tidegate.platform.core.schema.comparable_values import comparable_value, is_comparable

TEXT = Simple("string")


def test_spark_compares_no_map_and_no_variant_at_any_depth() -> None:
    for kind in (TEXT, Array(Struct((Field("a", TEXT),)))):
        assert is_comparable(kind)
    for kind in (Map(TEXT, TEXT), Simple("variant")):
        assert not any(map(is_comparable, (kind, Array(kind), Struct((Field("a", TEXT), Field("b", kind))))))


def test_only_values_with_maps_are_changed() -> None:
    for kind in (TEXT, Array(Struct((Field("a", TEXT),))), Simple("variant")):
        assert comparable_value(kind, "`v`") == "`v`"


def test_maps_become_lists_by_key_at_every_depth() -> None:
    """No variable has the name that a column may have."""
    inner = comparable_value(Map(TEXT, TEXT), "`v`")
    assert inner.startswith(
        "array_sort(transform(map_entries(`v`), _tidegate_item0 -> struct(_tidegate_item0.key AS key"
    )
    nested = comparable_value(Struct((Field("a b", Array(Map(TEXT, Map(TEXT, TEXT)))), Field("c", TEXT))), "`v`")
    assert nested.startswith(
        "if(`v` IS NULL, NULL, struct(transform(`v`.`a b`, _tidegate_item0 -> array_sort(transform("
    )
    assert "map_entries(_tidegate_item0), _tidegate_item1 -> " in nested
    assert "map_entries(_tidegate_item1.value), _tidegate_item2 -> " in nested
    assert nested.endswith(" AS `a b`, `v`.`c` AS `c`))")
