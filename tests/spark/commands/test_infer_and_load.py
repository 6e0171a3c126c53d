"""`tidegate infer` and the first load give a column one type, whatever its values look like."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from tidegate.platform.core.infer.text_format import sniff_csv, sniff_json
from tidegate.platform.core.schema.sql_types import parse_sql_type
from tidegate.platform.testing import TestLake

MakeLake = Callable[..., TestLake]

_CELLS = (
    "", "1", "-1", "+1", "007", "1.0", "1.10", "0.1", ".5", "5.", "1e5", "1E-7", "1,5", "1.234,5", "0x1F", "1_000",
    " 1", "1 ", "9223372036854775807", "9223372036854775808", "12345678901234567890123456789012345678901",
    "0.1234567890123456789", "-0", "-0.0",
    "NaN", "inf", "Infinity", "true", "TRUE", "False", "yes", "null", "NULL", "N/A", "x", "$5", "-", "20260102",
    "2026-01-02", "2026-1-2", "02.01.2026", "01/02/2026", "0001-01-01", "9999-12-31", "10000-01-01", "2026-02-30",
    "2026-01-02 03:04:05", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456+02:00", "2026-01-02 03:04", "03:04:05",
    "2026-01-02T03:04:05.1234567Z",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, 1, -1, 0, 1.5, -0.0, 1e300, 2**53, 2**63 - 1, 2**63, 10**40, True, False, "", "1", "x", "2026-01-02",
    "2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "10000-01-01", [], [1], [1.5], ["x"], [None], [[1]], [{"a": 1}], {},
    0.1, 9007199254740993, 123456789.123456789, {"a": 1}, {"a": "x"}, {"b": None}, {"a": {"b": 1}}, {"a": [1]},
)  # fmt: skip


#: Parts of cells. What they become together is nobody's choice.
_PARTS = (
    *"0179.,+-eE xTZ:", "00", "999999", "2026-01-02", "03:04:05", "03:04", " UTC", "+01:00", "true", "null", "NaN",
)  # fmt: skip


def _generated(chance: Random, count: int) -> list[str]:
    return ["".join(chance.choices(_PARTS, k=chance.randint(1, 5))) for _ in range(count)]


def _columns(chance: Random, values: Sequence[Any], count: int) -> list[tuple[Any, ...]]:
    """Return the values of columns of three rows: each value alone, and pairs by chance."""
    pairs = chance.sample(list(itertools.permutations(values, 2)), count)
    return [*((value, value, value) for value in values), *((*pair, chance.choice(pair)) for pair in pairs)]


@pytest.mark.seeds(1, 20)
def test_infer_proposes_the_types_that_the_load_gives(tidegate_lake: MakeLake, kit: Any, seed: int) -> None:
    chance = Random(seed)
    cells = _columns(chance, (*_CELLS, *_generated(chance, 40)), 400)
    values = _columns(chance, (*_VALUES, *_generated(chance, 20)), 300)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[f"c{n}" for n in range(len(cells))], *zip(*cells, strict=True)])
    # A value that no column can have takes its row along, so each value has a row of its own.
    lines = [{f"c{n}": value} for n, column in enumerate(values) for value in column]
    csv_body, json_body = text.getvalue().encode(), "\n".join(map(json.dumps, lines)).encode()
    of_csv, of_json = sniff_csv(csv_body, whole=True), sniff_json(json_body, whole=True)
    table = {"name": "csv", "prefix": "csv/", "format": "csv", "csv": of_csv.options}
    lake = tidegate_lake([table, {"name": "json", "prefix": "json/", "format": "json"}])
    wrong = []
    for form, body, sniffed, columns in (("csv", csv_body, of_csv, cells), ("json", json_body, of_json, values)):
        lake.put(f"{form}/1.{form}", body)
        kit.run(lake, form)
        state = lake.lake.delta.table_state(kit.location(lake, form))
        loaded = {field.name: field.type.sql() for field in state.schema.fields if not field.name.startswith("_")}
        proposed = {name: parse_sql_type(kind).sql() for name, kind in sniffed.columns.items()}
        wrong += [
            (form, columns[int(name[1:])], proposed.get(name), loaded.get(name))
            for name in sorted({*loaded, *proposed})
            if proposed.get(name) != loaded.get(name)
        ]
    assert not wrong, "\n".join(map(str, wrong))
