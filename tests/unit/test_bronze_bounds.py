"""What a batch may hold, where copies lie, and which columns silver can have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.assets.bronze import load
from tidegate.assets.bronze.log_paths import copy_key, copy_path, log_path
from tidegate.assets.silver.merge import _columns
from tidegate.platform.core.manifest import Hint
from tidegate.platform.core.object_key import is_hidden
from tidegate.platform.core.planning import Candidate, Found, Plan, TakenHint
from tidegate.platform.core.schema.column_types import Field, simple_type
from tidegate.platform.core.schema.table_schema import TableSchema


def candidate(key: str, size: int) -> Candidate:
    return Candidate(key, Found("etag", size, 0), TakenHint(Hint(key), "manifest"))


def preparation(*candidates: Candidate) -> Any:
    nothing: Any = None
    work: Any = SimpleNamespace(plan=Plan(candidates=list(candidates)))
    return load._Load(nothing, nothing, work)


def test_a_batch_loads_so_many_bytes_and_puts_the_rest_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "BATCH_BYTES", 100)
    files = [candidate("a", 60), candidate("b", 30), candidate("c", 20), candidate("d", 5)]
    one = preparation(*files)
    assert [taken.key for taken in one._bounded(files)] == ["a", "b"]
    assert [hint.key for hint in one.prepared.deferred] == ["c", "d"]
    large = preparation(candidate("large", 1000))
    assert [taken.key for taken in large._bounded([candidate("large", 1000)])] == ["large"]


def test_a_copy_is_no_source_and_never_another_object_s() -> None:
    key, prefix = "shop/day=1/a b.parquet", "shop/"
    assert copy_key(key, "e1", prefix) == "shop/_tidegate/copies/day=1/a b.parquet/e1.parquet"
    assert is_hidden(copy_key(key, "e1", prefix))
    assert copy_path(key, "e1", prefix) != copy_path(key, "e2", prefix)
    assert copy_path(key, "e1", prefix) != log_path(key, prefix)


def work(*names: str, registered: bool = True) -> Any:
    schema = TableSchema(tuple(Field(name, simple_type("bigint")) for name in names))
    table = SimpleNamespace(birth=SimpleNamespace(registered=registered), spec=SimpleNamespace(name="orders"))
    spec = SimpleNamespace(keys=("id",), order="at")
    return SimpleNamespace(table=table, bronze=SimpleNamespace(schema=schema), spec=spec)


def test_silver_has_what_producers_wrote() -> None:
    assert [field.name for field in _columns(work("ID", "at", "_batch"))] == ["ID", "at", "_batch"]
    assert [field.name for field in _columns(work("id", "at", "_batch", registered=False))] == ["id", "at"]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("id", "at", "_deleted"), "silver.orders: bronze has a column '_deleted', and silver one of its own"),
        (("id",), "silver.orders: bronze has no column 'at', which lake.yaml names in `silver`; it has id"),
    ],
)
def test_silver_says_what_it_cannot_have(names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        _columns(work(*names))
