"""JSON of rows is parsed, however deep a VARIANT in it is."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import types as T

from tidegate.platform.cli.commands.sql import json_text
from tidegate.platform.core.foreign_json import MAX_LEVELS
from tidegate.platform.core.row_json import flatten_deep_json, row_json
from tidegate.platform.core.silver.audit.intervals import json_values
from tidegate.platform.core.silver.audit.key_row import KeyRow
from tidegate.platform.core.silver.audit.row_outcomes import with_given_values

#: Levels of the deepest VARIANT of Spark.
LEVELS = 1_000


@pytest.mark.parametrize("text", ['"a]{\\"\\\\"', "1.50", "[]", '{"b":[null,"]"]}'])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"k":', "}"), ('[0,{"]":', "},1]")])
def test_a_deep_value_is_text_below_the_levels_that_are_parsed(start: str, end: str, text: str) -> None:
    count = LEVELS // (start.count("[") + start.count("{"))
    deep = start * count + text + end * count
    found = row_json(f'{{"a":{deep},"b":2,"c":{deep}}}')
    assert found["b"] == 2
    assert found["a"] == found["c"]
    inner, levels = found["a"], 1
    while not isinstance(inner, str):
        levels += 1
        inner = next(iter(inner.values())) if isinstance(inner, dict) else inner[min(1, len(inner) - 1)]
    assert levels == MAX_LEVELS
    assert deep.find(inner) == deep.rfind(inner) > 0
    assert json.loads(json.dumps(found)) == found
    assert flatten_deep_json(flatten_deep_json(deep)) == flatten_deep_json(deep)


def test_what_is_not_deep_stays_as_it_is() -> None:
    chance = random.Random(7)

    def value(level: int) -> Any:
        if level > 5 or chance.random() < 0.2:
            return chance.choice([1, "a[{", 'x"\\', None, True])
        inner = [value(level + 1) for _ in range(chance.randrange(4))]
        return inner if chance.random() < 0.5 else {f"k]{place}": part for place, part in enumerate(inner)}

    wide = json.dumps([value(0) for _ in range(2_000)])
    assert wide.count("[") + wide.count("{") > MAX_LEVELS
    assert flatten_deep_json(wide) == wide


def test_the_commands_that_show_rows_take_the_deepest_variant() -> None:
    deep = "[" * LEVELS + "1.5" + "]" * LEVELS
    assert json.loads(json_text(deep, T.VariantType())) == row_json(deep)
    assert json_values(f'{{"v":{deep}}}') == json_values(f'{{"v":{deep}}}')
    assert json_values(f'{{"v":{deep}}}') != json_values(f'{{"v":{deep.replace("1.5", "1.6")}}}')
    older, newest = (KeyRow(rank, 1, ("f", "", 0, 0), values) for rank, values in ((2, f'{{"v":{deep}}}'), (1, "{}")))
    filled = with_given_values(replace(newest, left=frozenset("v")), [older])
    assert row_json(filled.values) == row_json(older.values)
