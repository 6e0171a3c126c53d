"""Which columns of silver have no statistics, because they say something of a person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

from tidegate.platform.core.config.personal import PersonalSpec
from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.schema.column_statistics import STATISTICS
from tidegate.platform.core.schema.column_types import Field, Simple, Struct
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.silver.private_statistics import private_statistics

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
