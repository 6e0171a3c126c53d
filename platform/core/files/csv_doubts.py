"""Doubts about CSV files: a header that may be a row, a column that is text because of few cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

#: A time, as `TimeText` of platform/jvm reads it (docs/reference/times.md).
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[ Tt]\d{1,2}:\d{1,2}(:\d{1,2}([.,](\d{1,6}|\d{6}0+))?)?"
    r"( ?((Z|UTC|GMT|UT)(\[[\w/+-]+\])?|[A-Z_]+(/[\w+-]+)+"
    r"|[+-](\d{2}(:?\d{2}|:\d{2}:\d{2})?|\d:\d{2})(\[[\w/+-]+\]| ([A-Z]{1,6}|[+-]\d{2,4}))?))?",
    re.IGNORECASE | re.ASCII,
)
#: SQL types of cells, by their spelling, the narrowest first.
TYPES = (
    ("bigint", re.compile(r"-?(0|[1-9]\d{0,17})")),
    ("double", re.compile(r"-?((0|[1-9]\d{0,14})(\.\d{1,15})?|\.\d{1,15})([eE][+-]?\d{1,3})?")),
    ("boolean", re.compile(r"true|false", re.I)),
    ("date", re.compile(r"\d{4}-\d{2}-\d{2}")),
    ("timestamp", _TIME),
)
#: A pivoted table has years as column names.
_YEAR = re.compile(r"(19|20)\d{2}")
#: Minimum number of cells that show a column's type; one of `_ONE_OF` cells may have another type.
_LEAST = 10
_ONE_OF = 20


def type_of(cells: Iterable[str]) -> str:
    """The narrowest type that the spelling of all cells allows. Empty cells are ignored."""
    filled = [cell for cell in cells if cell != ""]
    return next((kind for kind, form in TYPES if filled and all(map(form.fullmatch, filled))), "string")


def header_doubt(names: Sequence[str]) -> str | None:
    """Why the first row of a file may not be a header; None if it looks like one."""
    values = [name for name in names if type_of([name]) != "string" and not _YEAR.fullmatch(name)]
    if not values:
        return None
    shown = ", ".join(repr(value[:40]) for value in values[:3])
    return (
        f"its first row looks like values and not like names ({shown}): where the files have no header, set "
        "`csv: {header: false}` of the table in lake.yaml"
    )


def text_doubts(columns: Mapping[str, Sequence[str]], nulls: Collection[str]) -> list[str]:
    """Why columns that become text may be intended as another type: nearly all of their cells have that type.

    Args:
        columns: the first cells of each column.
        nulls: texts that mean null.
    """
    return [doubt for name, cells in columns.items() if (doubt := _text_doubt(name, cells, nulls))]


def _text_doubt(name: str, all_cells: Sequence[str], nulls: Collection[str]) -> str | None:
    cells = [cell for cell in all_cells if cell != "" and cell not in nulls]
    kinds = Counter(type_of([cell]) for cell in cells)
    if kinds["bigint"] and kinds["double"]:
        kinds["double"] += kinds.pop("bigint")
    kind, count = next(iter(kinds.most_common(1)), ("string", 0))
    others = len(cells) - count
    if kind == "string" or len(cells) < _LEAST or others > max(1, len(cells) // _ONE_OF):
        return None
    odd = next((cell for cell in cells if type_of([cell]) not in (kind, "bigint" if kind == "double" else kind)), None)
    why = "a later cell is not" if odd is None else f"{odd[:40]!r} is not"
    return (
        f"column {name[:60]} is text, though {count} of its first {len(cells)} cells are {kind}, and {why}: where "
        "such cells mean null, say so in `csv: {nulls: […]}`; else say the type in `columns`; then their rows are "
        "quarantined"
    )
