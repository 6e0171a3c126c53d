"""Limits of a batch, paths of copies, and columns that silver can have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.assets.bronze.prepare.load import candidates as loadable
from tidegate.assets.bronze.prepare.load.candidates import bounded
from tidegate.assets.bronze.prepare.load.replaced_rows import Replacing, _DataFile
from tidegate.assets.bronze.prepare.prepared import PreparedBatch
from tidegate.assets.silver.table import silver_rules
from tidegate.platform.core.bronze.hint import Hint
from tidegate.platform.core.bronze.object_state import S3Found
from tidegate.platform.core.bronze.plan import Candidate, TakenHint
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.keys.object_key import is_hidden
from tidegate.platform.core.keys.own_paths import copy_key, copy_path, log_path
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema


def candidate(key: str, size: int) -> Candidate:
    return Candidate(key, S3Found("etag", size, 0), TakenHint(Hint(key), "manifest"))


def test_a_batch_loads_so_many_bytes_and_puts_the_rest_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loadable, "BATCH_BYTES", 100)
    files = [candidate("a", 60), candidate("b", 30), candidate("c", 20), candidate("d", 5)]
    prepared = PreparedBatch()
    assert [taken.key for taken in bounded(files, prepared)] == ["a", "b"]
    assert [hint.key for hint in prepared.deferred] == ["c", "d"]
    assert [taken.key for taken in bounded([candidate("large", 1000)], PreparedBatch())] == ["large"]


def test_a_batch_writes_so_many_bytes_of_data_files_again_and_puts_the_rest_off() -> None:
    nothing: Any = None
    replacing = Replacing(nothing, nothing)
    replacing._files = [
        _DataFile("large", 1000, frozenset({"a", "b"})),
        _DataFile("small", 1, frozenset({"b"})),
        _DataFile("other", 1000, frozenset({"c", "d"})),
    ]
    files = [candidate(key, 1) for key in "abcde"]
    assert replacing._too_much(files, 1001) == {"c", "d"}
    assert replacing._too_much(files, 1) == {"b", "c", "d"}, "never all, or nothing would ever come back"


def test_a_copy_is_no_source_and_never_another_object_s() -> None:
    key, prefix = "shop/day=1/a b.parquet", "shop/"
    assert copy_key(key, "e1", prefix) == "shop/_tidegate/copies/day=1/a b.parquet/e1.parquet"
    assert is_hidden(copy_key(key, "e1", prefix))
    assert copy_path(key, "e1", prefix) != copy_path(key, "e2", prefix)
    assert copy_path(key, "e1", prefix) != log_path(key, prefix)


def work(*names: str, registered: bool = True) -> Any:
    schema = TableSchema(tuple(Field(name, simple_type("bigint")) for name in names))
    table = SimpleNamespace(birth=SimpleNamespace(registered=registered), spec=SimpleNamespace(name="orders"))
    spec = SilverSpec(keys=("id",), order="at", every=9)  # type: ignore[arg-type]
    silver = SimpleNamespace(schema=TableSchema(), exists=False)
    return SimpleNamespace(table=table, bronze=SimpleNamespace(schema=schema), silver=silver, spec=spec)


def rules(work: Any) -> tuple[Field, ...]:
    return silver_rules(work, lambda expressions: []).columns


def test_silver_has_what_producers_wrote() -> None:
    assert [field.name for field in rules(work("ID", "at", "_batch"))] == ["ID", "at", "_batch"]
    assert [field.name for field in rules(work("id", "at", "_batch", registered=False))] == ["id", "at"]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("id", "at", "_deleted"), "silver.orders: bronze has a column '_deleted', and silver one of its own"),
        (("id",), "silver.orders: bronze has no column 'at', which lake.yaml names in `silver`; it has id"),
    ],
)
def test_silver_says_what_it_cannot_have(names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        rules(work(*names))


def test_silver_takes_no_column_in_another_type_than_it_has() -> None:
    """After a reset, MERGE would silently cut 1.5 to 1."""
    now = work("id", "at")
    now.silver.schema = TableSchema((Field("ID", simple_type("bigint")), Field("at", simple_type("int"))))
    with pytest.raises(
        ValueError, match=r"silver.orders: column at is int, and bigint in bronze: bronze was reset since"
    ):
        rules(now)
