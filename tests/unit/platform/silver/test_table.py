"""The columns that a silver table can have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.core.config.personal import PersonalSpec
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_statistics import STATISTICS
from tidegate.platform.core.schema.column_types import Field, Simple, Struct
from tidegate.platform.core.schema.sql_types import parse_sql_type, simple_type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.expression_types import UnfitExpression
from tidegate.platform.core.silver.recorded_options import OPTIONS, recorded_options
from tidegate.platform.silver.pending_merge import Aim
from tidegate.platform.silver.table import create_table, follow_lake_yaml, private_statistics, silver_rules

TEXT = Simple("string")
COLUMNS = [Field("id", Simple("long")), Field("mail", TEXT)]
ROW = parse_sql_type("struct<id:bigint,mail:string,contact:string>")
BRONZE = [
    Field("id", Simple("long")),
    Field("mail", TEXT),
    Field("before", ROW),
    Field("after", ROW),
    Field("data", Struct((Field("after", ROW),))),
    Field("source", parse_sql_type("struct<lsn:bigint>")),
    Field("op", TEXT),
    Field("list", parse_sql_type("array<struct<id:bigint,mail:string>>")),
    Field("_rescued_data", TEXT),
]
NONE = {"delta.dataSkippingNumIndexedCols": "0"}
SOME = {STATISTICS: "`id`"}
BOTH = {STATISTICS: "`id`,`mail`"}


def work(*names: str, registered: bool = True) -> Any:
    schema = TableSchema(tuple(Field(name, simple_type("bigint")) for name in names))
    table = SimpleNamespace(
        birth=SimpleNamespace(registered=registered),
        spec=SimpleNamespace(name="orders", widen=False, columns={}, personal=None),
    )
    spec = SilverSpec(keys=("id",), order="at", every=9)  # type: ignore[arg-type]
    silver = SimpleNamespace(schema=TableSchema(), exists=False, properties={})
    bronze = SimpleNamespace(schema=schema)
    return SimpleNamespace(table=table, bronze=bronze, silver=silver, spec=spec, aim=Aim.WAITING)


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
    create_table(
        lake.delta,
        lake.id,
        now,
        silver_rules(now, lambda expressions, relation: [simple_type("bigint")] * len(expressions)),
    )
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
    follow_lake_yaml(lake.delta, now, made, lines.append)
    (line,) = lines
    assert line.startswith(
        "`except_columns` of `silver` in lake.yaml has changed from x to nothing; `tidegate rebuild silver"
    )
    assert f"SET TBLPROPERTIES ('{OPTIONS}' = " in commands[0]
    now.silver.properties = {OPTIONS: recorded_options(now.spec)}
    follow_lake_yaml(lake.delta, now, made, lines.append)
    assert (len(lines), len(commands)) == (1, 1)


def _written(
    personal: str | list[str], silver: dict[str, Any], columns: Sequence[Field], bronze: Sequence[Field]
) -> dict[str, str]:
    spec: Any = type("Spec", (), {})()
    spec.personal = PersonalSpec(columns=(personal,) if isinstance(personal, str) else tuple(personal))
    spec.silver = SilverSpec.model_validate({"keys": ["id"], "order": "at", "every": 9, **silver})
    return private_statistics(spec, columns, bronze)


@pytest.mark.parametrize(
    ("personal", "silver", "written"),
    [
        ("mail", {}, SOME),
        ("after.mail", {}, BOTH),  # another column of the name
        ("after.mail", {"from": "debezium"}, SOME),
        ("after", {"from": "debezium"}, NONE),
        ("after.mail", {"row": "coalesce(after, before)"}, SOME),
        ("before.mail", {"row": "coalesce(after, before)"}, SOME),
        ("source.lsn", {"row": "coalesce(after, before)"}, BOTH),
        ("after", {"row": "coalesce(after, before)"}, NONE),
        ("data", {"row": "data.after"}, NONE),
        ("after.contact", {"row": "struct(after.id, after.contact AS mail)"}, NONE),
        ("source.lsn", {"rename": {"_rescued_data": "note", "mail": "id", "id": "mail"}}, BOTH),
        ("mail", {"rename": {"mail": "id", "id": "mail"}}, {STATISTICS: "`mail`"}),
        ("before.mail", {"derive": {"mail": "lower(before.mail)"}}, SOME),
        ("who", {"rename": {"_rescued_data": "mail", "mail": "letter"}}, SOME),
        ("list.mail", {"row": "list"}, SOME),
    ],
)
def test_no_column_has_them_if_its_name_does_not_show_what_it_has(
    personal: str, silver: dict[str, Any], written: dict[str, str]
) -> None:
    assert _written(personal, silver, COLUMNS, BRONZE) == written


def test_a_struct_whose_fields_a_cast_takes_by_their_place_has_none() -> None:
    bronze = [Field("id", Simple("long")), Field("who", parse_sql_type("struct<n:string,mail:string>"))]
    silver = [bronze[0], Field("who", parse_sql_type("struct<mail:string,n:string>"))]
    assert _written("who.mail", {"cast": {"who": "struct<mail:string,n:string>"}}, silver, bronze) == SOME
    assert _written("who.mail", {}, bronze, bronze) == {STATISTICS: "`id`,`who`.`n`"}


def _leaves(fields: Sequence[Field], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for field in fields:
        path = (*above, field.name)
        yield from _leaves(field.type.fields, path) if isinstance(field.type, Struct) else [path]


def _fields(random: Random, level: int) -> tuple[Field, ...]:
    names = random.sample(["user", "id", "mail", "user.id", "user.mail", "Mail", "x"], random.randint(1, 4))
    unique = {name.lower(): name for name in names}.values()
    return tuple(
        Field(name, Struct(_fields(random, level - 1)) if level and random.random() < 0.4 else TEXT) for name in unique
    )


@pytest.mark.seeds(400, 20_000)
def test_each_column_of_silver_has_them_unless_its_values_are_personal_by_any_reading(seed: int) -> None:
    """The expected answer follows each leaf of bronze to its place in silver."""
    random = Random(seed)
    bronze = [Field("k", TEXT), *_fields(random, 2), Field("payload", Struct(_fields(random, 2)))]
    leaves = [*_leaves(bronze)]
    named = {".".join(random.choice(leaves)[: random.randint(1, 3)]) for _ in range(random.randint(1, 2))}
    personal = sorted({name.lower(): name for name in named}.values())
    is_opened = random.random() < 0.5
    roots = bronze[-1].type.fields if is_opened else bronze  # type: ignore[union-attr]
    new = {field.name: f"new_{n}" for n, field in enumerate(roots) if random.random() < 0.4}
    silver = [Field(new.get(field.name, field.name), field.type) for field in roots]
    options: dict[str, Any] = {"keys": ["key"], "rename": {name.upper(): other for name, other in new.items()}}
    if is_opened:
        options["row"] = "payload"
    expected = []
    for path in _leaves(roots):
        whole = [part.lower() for part in (("payload", *path) if is_opened else path)]
        shown = (new.get(path[0], path[0]), *path[1:])
        if not any(".".join(whole[:length]) in map(str.lower, personal) for length in range(1, len(whole) + 1)):
            expected.append(".".join(f"`{part}`" for part in shown))
    written = _written(personal, options, silver, bronze)
    assert [name for name in re.split(r",(?=`)", written.get(STATISTICS, "")) if name] == expected
