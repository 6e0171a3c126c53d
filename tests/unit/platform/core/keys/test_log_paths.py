"""Paths of Tidegate's own objects in the folder of a table."""

from __future__ import annotations

from tidegate.platform.core.keys.log_paths import copy_key, copy_path, log_path
from tidegate.platform.core.keys.object_key import is_hidden


def test_a_copy_is_not_a_source_and_never_another_object_s() -> None:
    key, prefix = "shop/day=1/a b.parquet", "shop/"
    assert copy_key(key, "e1", prefix) == "shop/_tidegate/copies/day=1/a b.parquet/e1.parquet"
    assert is_hidden(copy_key(key, "e1", prefix))
    assert copy_path(key, "e1", prefix) != copy_path(key, "e2", prefix)
    assert copy_path(key, "e1", prefix) != log_path(key, prefix)
