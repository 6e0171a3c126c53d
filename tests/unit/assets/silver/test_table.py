"""The columns that a silver table can have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.assets.silver.table import create_table, silver_rules
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema


def work(*names: str, registered: bool = True) -> Any:
    schema = TableSchema(tuple(Field(name, simple_type("bigint")) for name in names))
    table = SimpleNamespace(
        birth=SimpleNamespace(registered=registered), spec=SimpleNamespace(name="orders", widen=False)
    )
    spec = SilverSpec(keys=("id",), order="at", every=9)  # type: ignore[arg-type]
    silver = SimpleNamespace(schema=TableSchema(), exists=False)
    return SimpleNamespace(table=table, bronze=SimpleNamespace(schema=schema), silver=silver, spec=spec)


def rules(work: Any) -> tuple[Field, ...]:
    return silver_rules(work, lambda expressions, relation: []).columns


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


def test_times_of_a_history_may_have_a_name_that_delta_maps() -> None:
    """The column of the order has another name in silver, and `valid_from` still has the first one."""
    now, commands = work("id", "updated at", "seq"), list[str]()
    options = {"order": ("updated at", "seq"), "stored_as": "scd2", "rename": {"updated at": "updated_at"}}
    now.spec = SilverSpec(keys=("id",), every=9, **options)  # type: ignore[arg-type]
    now.table.spec.personal, now.location, now.n, now.app_id = None, "s3a://b/silver", 1, "app"
    session = SimpleNamespace(sql=lambda text: commands.append(text) or SimpleNamespace(collect=list))  # type: ignore[func-returns-value]
    lake: Any = SimpleNamespace(id="lake", delta=SimpleNamespace(session=session))
    create_table(lake, now, silver_rules(now, lambda expressions, relation: [simple_type("bigint")] * len(expressions)))
    assert "'delta.columnMapping.mode' = 'name'" in commands[0]
