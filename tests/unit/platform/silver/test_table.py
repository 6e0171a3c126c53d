"""The columns that a silver table can have."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_types import Field
from tidegate.platform.core.schema.sql_types import simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.expression_types import UnfitExpression
from tidegate.platform.core.silver.recorded.options import OPTIONS, recorded_options
from tidegate.platform.silver.table import create_table, follow_lake_yaml, silver_rules


def work(*names: str, registered: bool = True) -> Any:
    schema = TableSchema(tuple(Field(name, simple_type("bigint")) for name in names))
    table = SimpleNamespace(
        birth=SimpleNamespace(registered=registered),
        spec=SimpleNamespace(name="orders", widen=False, columns={}, personal=None),
    )
    spec = SilverSpec(keys=("id",), order="at", every=9)  # type: ignore[arg-type]
    silver = SimpleNamespace(schema=TableSchema(), exists=False, properties={})
    bronze = SimpleNamespace(schema=schema)
    return SimpleNamespace(table=table, bronze=bronze, silver=silver, spec=spec, is_whole_rebuild=False)


def rules(work: Any) -> tuple[Field, ...]:
    return silver_rules(work, lambda expressions, relation: []).columns


def test_silver_has_what_producers_wrote() -> None:
    assert [field.name for field in rules(work("ID", "at", "_batch"))] == ["ID", "at", "_batch"]
    assert [field.name for field in rules(work("id", "at", "_batch", registered=False))] == ["id", "at"]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (
            ("id", "at", "_deleted"),
            "silver.orders: bronze has a column '_deleted', and silver one of its own by that name: .*`rename`",
        ),
        (("id",), "silver.orders: bronze has no column 'at', which `order` of `silver` names; it has id"),
    ],
)
@pytest.mark.limit(
    "Silver",
    "Columns of bronze with the names of silver's own columns need `rename`, and each column that `keys`, "
    "`order` and the other options name must be in bronze.",
)
def test_silver_says_what_it_cannot_have(names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        rules(work(*names))


def test_silver_takes_no_column_in_another_type_than_it_has() -> None:
    """After a reset, MERGE would silently cut 1.5 to 1."""
    now = work("id", "at")
    now.silver.exists = True
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
    assert f"'{OPTIONS}' = " in commands[0]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"expect": {"a": "v > 0"}, "expect_or_drop": {"b": "vv > 0"}}, "`expect_or_drop.b` of `silver`"),
        ({"delete_when": "vv", "expect": {"a": "v > 0"}}, "`delete_when` of `silver`"),
        ({"skip_when": "vv"}, "`skip_when` of `silver`"),
        ({"apply_as_truncates": "vv"}, "`apply_as_truncates` of `silver`"),
    ],
)
def test_a_condition_over_an_unknown_column_is_named(options: dict[str, Any], named: str) -> None:
    now = work("id", "at", "v")
    now.spec = SilverSpec(keys=("id",), order="at", every=9, **options)  # type: ignore[arg-type]

    def types(expressions: Sequence[str], relation: str) -> list[Any]:
        if any("vv" in sql for sql in expressions):
            raise UnfitExpression("there is no column `vv`", "vv")
        return [simple_type("bigint")] * len(expressions)

    with pytest.raises(ValueError, match=f"silver.orders: bronze does not fit {named}: there is no column `vv`. If"):
        silver_rules(now, types)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"derive": {"x": "1", "y": "vv"}}, "`derive.y`"),
        ({"row": "struct(vv)"}, "`row`"),
        ({"keys": ("id", "abs(vv)")}, "`keys`"),
        ({"order": ("abs(vv)",)}, "`order`"),
        ({"cast": {"at": "date"}}, "`cast.at`"),
        ({"cast": {"id": "int"}, "decode": {"at": "days"}}, "`decode.at`"),
    ],
)
def test_an_expression_that_does_not_fit_is_named(options: dict[str, Any], named: str) -> None:
    now = work("id", "at")
    now.spec = SilverSpec(**{"keys": ("id",), "order": "at", "every": 9, **options})

    def types(expressions: Sequence[str], relation: str) -> list[Any]:
        if any(part in sql for sql in expressions for part in ("vv", "AS date", "from_unix_date")):
            raise UnfitExpression("there is no such thing")
        return [simple_type("bigint")] * len(expressions)

    with pytest.raises(
        ValueError, match=f"silver.orders: bronze does not fit {named} of `silver`: there is no such thing"
    ):
        silver_rules(now, types)


def test_changed_options_are_recorded_and_named_once() -> None:
    now, commands, lines = work("id", "at"), list[str](), list[str]()
    now.table.spec.personal, now.location = None, "s3a://b/silver"
    session = SimpleNamespace(sql=lambda text: commands.append(text) or SimpleNamespace(collect=list))  # type: ignore[func-returns-value]
    lake: Any = SimpleNamespace(id="lake", delta=SimpleNamespace(session=session))
    made = silver_rules(now, lambda expressions, relation: [])
    now.silver.properties = {OPTIONS: recorded_options(now.spec.model_copy(update={"except_columns": ("x",)}))}
    follow_lake_yaml(lake, now, made, lines.append)
    (line,) = lines
    assert line.startswith(
        "`except_columns` of `silver` in lake.yaml has changed from x to nothing; `tidegate rebuild silver"
    )
    assert f"SET TBLPROPERTIES ('{OPTIONS}' = " in commands[0]
    now.silver.properties = {OPTIONS: recorded_options(now.spec)}
    follow_lake_yaml(lake, now, made, lines.append)
    assert (len(lines), len(commands)) == (1, 1)
