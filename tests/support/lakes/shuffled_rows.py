"""One multiset of rows as files of any number, size, order and spelling."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Row = dict[str, Any]
_PAD = "p" * 70_000
_DAYS = ["2026-01-01", "2025-12-31", "2024-02-29"]
_MOMENTS = ["2026-01-01 10:00:00", "2025-12-31 23:59:59.5"]
#: Values of a column of CSV, by a kind of it. Each row has one of them, or none.
_CELLS: dict[str, Sequence[Any]] = {
    "whole": [1, -7, 2**40],
    "point": [1, 10.5, -0.25],
    "late": [*range(30), 0.5],
    "big": [2**53 + 1, 1.5],
    "huge": [10**20, 3],
    "day": _DAYS,
    "time": [*_DAYS, *_MOMENTS],
    "clock": [*_DAYS, "10:00"],
    "flag": ["true", "false"],
    "sometimes": ["true", 1],
    "code": ["007", "7"],
    "words": ["", "a,b", 'say "x"', "two\nlines", "ü", " x "],
    "rare": ["only here"],
}
#: Values of a field of JSON.
_FIELDS: dict[str, Sequence[Any]] = {
    **{name: _CELLS[name] for name in ("whole", "point", "late", "big", "huge", "day", "time", "words", "rare")},
    "flag": [True, False],
    "sometimes": [True, 1],
    "inner": [{"a": 1}, {"a": 1.5}, {"b": "x"}, {"a": None, "c": {"d": [1]}}, {}],
    "list": [[1], [1.5, 2], [], [None]],
    "objects": [[{"x": 1}], [{"x": 2.5, "y": "z"}], []],
    # No object: in a column of text it is its text as it was written, blanks included.
    "kinds": [1, "x", True],
}


def rows_of(chance: Random, kind: str, count: int = 60) -> list[Row]:
    """Return rows with an id, some of which lack some columns. Of JSON, one row makes its file a large one."""
    columns = _CELLS if kind == "csv" else _FIELDS
    rows = []
    for number in range(count):
        had = [name for name in columns if chance.random() < (0.04 if name == "rare" else 0.6)]
        rows.append({"id": number, **{name: chance.choice(columns[name]) for name in had}})
    rows[0]["pad"] = _PAD
    return rows


def files_of(chance: Random, kind: str, rows: Sequence[Row]) -> dict[str, bytes]:
    """Return files of rows by name, divided and written in some way."""
    rows = chance.sample(rows, len(rows))
    cuts = sorted(chance.sample(range(1, len(rows)), chance.randint(0, 5)))
    files = {}
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
        part = rows[first:last]
        body = (_csv(chance, part) if kind == "csv" else _json(chance, part)).encode()
        packed = chance.random() < 0.3
        files[f"{number}.{kind}{'.gz' * packed}"] = gzip.compress(body) if packed else body
    return files


def _csv(chance: Random, rows: Sequence[Row]) -> str:
    """Return a column that no row has may be in the header, and a cell without a value is never quoted."""
    names = sorted({name for row in rows for name in row})
    names += [name for name in _CELLS if name not in names and chance.random() < 0.5]
    names = chance.sample(names, len(names))
    body, end = io.StringIO(newline=""), chance.choice(["\n", "\r\n"])
    every = chance.random() < 0.5

    def cell(value: Any) -> str:
        text = io.StringIO(newline="")
        quoting = csv.QUOTE_ALL if every or value in ("", "two\nlines") else csv.QUOTE_MINIMAL
        csv.writer(text, lineterminator="", quoting=quoting).writerow([value])
        return text.getvalue()

    body.write(",".join(map(cell, names)) + end)
    for row in rows:
        body.write(",".join(cell(row[name]) if name in row else "" for name in names) + end)
    return body.getvalue()


def _json(chance: Random, rows: Sequence[Row]) -> str:
    shuffled = [{name: row[name] for name in chance.sample(list(row), len(row))} for row in rows]
    texts = [json.dumps(row, indent=chance.choice([None, None, None, 1])) for row in shuffled]
    write: Callable[[list[str]], str] = chance.choice([
        "\n".join, "".join, lambda texts: f"[{', '.join(texts)}]", lambda texts: "\r\n\n".join([*texts, ""])
    ])  # fmt: skip
    return write(texts)
