"""The SQL of a merge into a table of persons: what a row keeps of the row that it replaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.platform.core.config.silver import SilverSpec
from tidegate.platform.core.config.silver_columns import SILVER_COLUMNS
from tidegate.platform.core.forgetting.persons import Persons
from tidegate.platform.core.schema.column_types import Field, Simple, Struct, Type
from tidegate.platform.core.schema.table_schema import TableSchema
from tidegate.platform.core.silver.rules import merge_rules
from tidegate.platform.silver.changes import Changes
from tidegate.platform.silver.history_merge import build_history_merge
from tidegate.platform.silver.merge_sql import build_merge
from tidegate.platform.silver.pending_merge import Aim

TEXT, NUMBER = Simple("string"), Simple("bigint")
BRONZE = (Field("id", NUMBER), Field("at", NUMBER), Field("who", TEXT), Field("home", Struct((Field("city", TEXT),))))
GONE = (Field("phone", TEXT), Field("Old Name", TEXT))


def _types(expressions: Sequence[str], relation: str) -> list[Type]:
    return [NUMBER] * len(expressions)


def _update(way: dict[str, Any], persons: Persons | None) -> str:
    """Return the assignments that make a row of silver another one. Bronze lacks some of its columns and fields."""
    spec = SilverSpec(keys=("id",), order=("at",), every=9, **way.get("silver", {}))
    rules = replace(merge_rules(spec, BRONZE, _types), persons=persons)
    home = Field("home", Struct((Field("city", TEXT), Field("street", TEXT))))
    silver = TableSchema((*BRONZE[:-1], home, *GONE, *rules.stored[len(BRONZE) :]))
    state = SimpleNamespace(files=1, properties={}, schema=silver)
    table = SimpleNamespace(spec=SimpleNamespace(name="items"))
    work: Any = SimpleNamespace(
        spec=spec, table=table, silver=state, since=way.get("since"), location="s3a://b/silver",
        aim=Aim.REBUILD_SINCE if "since" in way else Aim.WAITING,
        mark=way.get("mark", 3),
    )  # fmt: skip
    changes = Changes("view", 4, way.get("why_full"), 1, {"rows": 1}, is_reread=way.get("is_reread", False))
    build = build_history_merge if spec.is_history else build_merge
    found = re.search(r"THEN UPDATE SET (.*?) WHEN ", build(work, changes, rules, silver).statement)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("is_history", [False, True], ids=["newest", "history"])
@pytest.mark.parametrize(
    "way",
    [{}, {"mark": None}, {"why_full": "files were read again", "is_reread": True}, {"why_full": "all"}],
    ids=["upsert", "after-reset", "reread", "full"],
)
def test_a_merge_of_rows_of_persons_decides_on_every_value_of_the_row_that_it_replaces(
    way: dict[str, Any], is_history: bool
) -> None:
    """What it does not assign would stay in a row of somebody else, and nobody could say whose it is."""
    silver = {"stored_as": "scd2"} if is_history else {}
    way = {**way, "silver": {**silver, "on_removed": "full"} if way.get("why_full") == "all" else silver}
    update = _update(way, Persons((("who",),)))
    assigned = {name.strip("`") for name in re.findall(r"(?:^|, )t\.(`[^`]+`|\w+) = ", update)}
    names = {field.name for field in (*BRONZE, *GONE)}
    assert names | set(SILVER_COLUMNS) <= assigned
    # What stays is a person's whom the new row names.
    named = "size(array_except(array_compact(CAST(array(CAST(t.`who` AS STRING)) AS array<string>)), "
    for column in [] if way.get("why_full") == "all" else ["phone", "Old Name"]:
        assert f"t.`{column}` = if(coalesce({named}" in update
    # Of rows of nobody, what bronze does not give stays as it is.
    plain = _update(way, None)
    assert ("t.`phone` = " in plain) == (way.get("why_full") == "all")


@pytest.mark.parametrize("way", [{}, {"mark": None}, {"why_full": "x", "is_reread": True}, {"since": 2}])
def test_a_row_of_a_history_that_is_written_again_keeps_nothing_that_it_left_and_that_is_not_computed_again(
    way: dict[str, Any],
) -> None:
    """It is of the change before it, whose person may be another one. No list says so any more."""
    silver = {"stored_as": "scd2", "ignore_null_updates": True}
    update = _update({**way, "silver": silver}, Persons((("who",),)))
    for column in ("phone", "Old Name"):
        assert f"if(coalesce(array_contains(t._left, '{column}'), false), NULL, if(" in update
    assert "array_contains(t._left, " not in _update({**way, "silver": silver}, None)


@pytest.mark.parametrize(("rows", "is_sent"), [(1, True), (100_000, True), (100_001, False)])
@pytest.mark.parametrize("preset", [None, "snapshots"])
def test_keys_are_sent_to_every_task_only_if_their_number_is_known(
    preset: str | None, rows: int, is_sent: bool
) -> None:
    """Spark obeys the hint whatever the size. A dump of one row implies a delete of every other key of silver."""
    spec = SilverSpec(keys=("id",), order=("at",), every=9, stored_as="scd2", **{"from": preset})
    rules = merge_rules(spec, BRONZE, _types)
    silver = TableSchema(rules.stored)
    state = SimpleNamespace(files=1, properties={}, schema=silver)
    work: Any = SimpleNamespace(
        spec=spec, table=SimpleNamespace(spec=SimpleNamespace(name="items")), silver=state, since=None, aim=Aim.WAITING,
        location="s3a://b/silver", mark=3,
    )  # fmt: skip
    merging = build_history_merge(work, Changes("view", 4, None, 1, {"rows": rows}), rules, silver)
    for query in (merging.rows, merging.statement):
        assert ("BROADCAST" in query) == (is_sent and preset is None)
    assert merging.newer is not None, "the keyed merge counts the rows before it keeps any"
