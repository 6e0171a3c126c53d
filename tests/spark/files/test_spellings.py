"""Spellings of times, as databases and languages print them, and of the names of columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.support.tracked import ROOT
from tidegate.platform.testing import TestLake

TEXT = (ROOT / "tests" / "unit" / "data" / "times.tsv").read_text()
SPELLINGS = [line.split("\t")[1:3] for line in TEXT.removesuffix("\n").split("\n")]
TAKEN = [(text, instant) for text, instant in SPELLINGS if instant != "-"]


def _csv(*rows: list[Any]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([["n", "at"], *rows])
    return file.getvalue()


def test_every_format_takes_the_times_that_have_one_meaning(tidegate_lake: Callable[..., TestLake], kit: Any) -> None:
    declared = {"columns": {"n": "int", "at": "timestamp"}}
    lake = tidegate_lake(
        [
            {"name": "inferred", "prefix": "inferred/", "format": "csv"},
            {"name": "cells", "prefix": "cells/", "format": "csv", **declared},
            {"name": "objects", "prefix": "objects/", "format": "json", **declared},
            {"name": "names", "prefix": "names/", "format": "json", "columns": {"id": "int", "v": "int"}},
        ]
    )
    lake.put("inferred/a.csv", _csv(*([n, text] for n, (text, _) in enumerate(TAKEN))))
    lake.put("cells/a.csv", _csv(*([n, text] for n, (text, _) in enumerate(SPELLINGS))))
    lake.put("objects/a.json", kit.lines(*({"n": n, "at": text} for n, (text, _) in enumerate(SPELLINGS))))
    expected = [(n, datetime.fromisoformat(instant)) for n, (_, instant) in enumerate(SPELLINGS) if instant != "-"]
    for table, numbers in (("inferred", range(len(TAKEN))), ("cells", None), ("objects", None)):
        kit.run(lake, table)
        rows = kit.query(lake, "SELECT n, at FROM {t} ORDER BY n", t=kit.location(lake, table))
        found = [(row["n"], row["at"].astimezone(UTC)) for row in rows]
        wanted = expected if numbers is None else [(n, at) for n, (_, at) in zip(numbers, expected, strict=True)]
        assert found == wanted, table

    # A declared column takes every spelling of its name, at the birth of the table and later, but one in a row.
    given: list[dict[str, int]] = [{"Id": 1, "v": 1}, {"id": 2, "v": 2}, {"ID": 3, "id": 3, "v": 3}, {"id": 4, "V": 4}]
    lake.put("names/a.json", kit.lines(*given))
    kit.run(lake, "names")
    lake.put("names/b.json", kit.lines({"ID": 5, "v": 5}))
    kit.run(lake, "names")
    assert [row[:2] for row in kit.bronze(lake, "names", "id, v")] == [(1, 1), (2, 2), (4, 4), (5, 5)]
