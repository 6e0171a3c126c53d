"""Whose the JSON text of a row is: what a reference to a subject means is one question, for lines and for tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from tidegate.platform.core.forgetting.request import SubjectKey
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.forgetting.row_redaction import KeptRow
from tidegate.platform.lake.suppression import Suppression

KEY = SubjectKey("a secret of a unit test", "person")
REFERENCES = ["who", "user.id", "payload.user.id", "a.b.c.d"]
TEXT, NUMBER = Simple("string"), Simple("long")
#: Values of a subject, by the type of its column, and whether they name person 42.
VALUES: dict[Type | None, list[tuple[Any, bool]]] = {
    TEXT: [("42", True), (42, True), (" 42", False), ("042", False), ("42.0", False), ("43", False), (43, False)],
    NUMBER: [(42, True), ("42", True), ("42.0", True), (" 42", True), (42.0, True), ("x42", False), (43, False)],
    None: [("42", True), (42, True), (" 42", True), ("42.0", True), ("x42", False), ("43", False), (43, False)],
}


def _list(*subject: str, sides: tuple[str, ...] = ()) -> Suppression:
    return Suppression("t", KEY, frozenset({KEY.digest("42")}), subject, sides=sides)


def _path(random: Random, reference: str) -> list[str]:
    """Return one of the readings of a reference: each of its dots may be of a name."""
    first, *others = reference.split(".")
    path = [first]
    for part in others:
        path = [*path, part] if random.random() < 0.5 else [*path[:-1], f"{path[-1]}.{part}"]
    return path


def _object(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _column(path: Sequence[str], kind: Type) -> Field:
    for name in reversed(path[1:]):
        kind = Struct((Field(name, kind), Field("other", TEXT)))
    return Field(path[0], kind)


@pytest.mark.seeds(400, 20_000)
def test_a_line_leaves_by_every_reading_of_its_subject_and_every_value_that_a_load_finds(seed: int) -> None:
    random = Random(seed)
    reference = random.choice(REFERENCES)
    path, columns = _path(random, reference), [Field("n", TEXT)]
    kind = random.choice([*VALUES])
    if kind is not None:
        columns.append(_column(path, kind))
    value, leaves = random.choice(VALUES[kind])
    spelled = [name.upper() if random.random() < 0.2 else name for name in path]
    line = json.dumps({"n": random.choice(["x", None]), **_object(spelled, value)})
    assert (KeptRow(_list("who_else", reference), columns).rest(line) is None) is leaves, (line, columns)
    if kind is not None and value == 42:
        assert [*_list(reference).paths(columns)] == [tuple(path)], "bronze is searched by the same readings"


@pytest.mark.seeds(400, 20_000)
def test_a_line_whose_subject_is_in_what_should_be_an_object_leaves_if_it_mentions_a_person(seed: int) -> None:
    random = Random(seed)
    reference = random.choice(REFERENCES[1:])
    path = _path(random, reference)
    if len(path) == 1:
        path = reference.split(".")
    cut = random.randint(1, len(path) - 1)
    person = random.choice([42, "42", 43, "43"])
    inner = _object(path[cut:], person)
    value = random.choice([json.dumps(inner), [inner], [[inner]], str(person)])
    columns = random.choice([[], [_column(path, random.choice([TEXT, NUMBER]))]])
    line = json.dumps({"n": "x", **_object(path[:cut], value)})
    assert (KeptRow(_list(reference), columns).rest(line) is None) is (str(person) == "42"), (line, columns)


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        # The column `user` of the table is text, and no field of it is a subject.
        ('{"user": "42", "user.id": "7"}', '{"user": "42", "user.id": "7"}'),
        ('{"user": "7", "user.id": "42"}', None),
        ('{"user": ["42"], "user.id": "7"}', '{"user": ["42"], "user.id": "7"}'),
        ('{"user.id": "7", "note": "42"}', '{"user.id": "7", "note": "42"}'),
        ('{"user.id": ["7"], "note": "42"}', None),
        ('{"user.id": true, "note": "42"}', None),
    ],
)
def test_a_line_of_another_person_stays(line: str, rest: str | None) -> None:
    columns = [Field("user", TEXT), Field("user.id", TEXT), Field("note", TEXT)]
    assert KeptRow(_list("user.id"), columns).rest(line) == rest


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ('{"before": {"user.id": 42}, "after": {"user.id": 8}}', '{"before": null, "after": {"user.id": 8}}'),
        ('{"before": {"user": {"id": 42}}, "after": {"user.id": 8}}', '{"before": null, "after": {"user.id": 8}}'),
        ('{"before": {"user.id": 7}, "after": {"user.id": 42}}', '{"before": {"user.id": 7}, "after": null}'),
        # A column that is called so is not a side of the row.
        ('{"before.user.id": 42, "after.user.id": 8}', None),
        ('{"before.user.id": 42, "before": {"user.id": 7}, "after": {"user.id": 8}}', None),
        ('{"before": {"user.id": 7}, "after": {"user.id": 8}}', '{"before": {"user.id": 7}, "after": {"user.id": 8}}'),
    ],
)
def test_a_side_of_a_change_is_what_has_the_subject_by_its_reading(line: str, rest: str | None) -> None:
    persons = _list("before.user.id", "after.user.id", sides=("before", "after"))
    side = parse_sql_type("struct<`user.id`:bigint,user:struct<id:bigint>>")
    for columns in ([], [Field("before", side), Field("after", side)]):
        assert KeptRow(persons, columns).rest(line) == rest


def test_while_a_table_has_no_second_side_a_line_leaves_as_a_whole_as_from_a_load() -> None:
    persons = _list("before.who", "after.who", sides=("before", "after"))
    line = '{"before": {"who": 42}, "after": {"who": 8}}'
    columns = [Field("before", parse_sql_type("struct<who:bigint>"))]
    assert KeptRow(persons, columns).rest(line) is None


def test_a_table_that_has_both_readings_of_a_subject_is_searched_by_both() -> None:
    """The column joined later: the rows from before have the field, and it would not be searched any more."""
    columns = [Field("user", Struct((Field("id", NUMBER),))), Field("user.id", TEXT)]
    assert _list("USER.id").paths(columns) == [("user.id",), ("user", "id")]
    line = '{"user.id": "7", "user": {"id": 42}}'
    assert KeptRow(_list("user.id"), columns).rest(line) is None
